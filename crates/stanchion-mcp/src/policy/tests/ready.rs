use stanchion_core::Effect;

use super::super::{PolicyFile, READY};
use crate::Locking;

/// The tools of each server, read from the packages that the policies name. With `!`: it writes, and what it writes is
/// shared, so it must have a lock. With `~`: it only reads, and must be known for that without hints.
const TOOLS: &[(&str, &str)] = &[
    (
        "everything",
        "echo get-annotated-message get-env get-resource-links get-resource-reference get-roots-list \
         get-structured-content get-sum get-tiny-image gzip-file-as-resource simulate-research-query \
         toggle-simulated-logging toggle-subscriber-updates trigger-elicitation-request \
         trigger-elicitation-request-async trigger-long-running-operation trigger-sampling-request \
         trigger-sampling-request-async trigger-url-elicitation",
    ),
    ("fetch", "~fetch"),
    (
        "filesystem",
        "~read_file ~read_text_file ~read_media_file ~read_multiple_files !write_file !edit_file !create_directory \
         ~list_directory ~list_directory_with_sizes ~directory_tree !move_file ~search_files ~get_file_info \
         ~list_allowed_directories",
    ),
    (
        "git",
        "~git_status ~git_diff_unstaged ~git_diff_staged ~git_diff !git_commit !git_add !git_reset ~git_log \
         !git_create_branch !git_checkout ~git_show ~git_branch",
    ),
    (
        "github",
        "add_issue_comment !create_branch create_issue !create_or_update_file create_pull_request \
         create_pull_request_review create_repository fork_repository ~get_file_contents ~get_issue ~get_pull_request \
         ~get_pull_request_comments ~get_pull_request_files ~get_pull_request_reviews ~get_pull_request_status \
         ~list_commits ~list_issues ~list_pull_requests !merge_pull_request !push_files ~search_code ~search_issues \
         ~search_repositories ~search_users update_issue !update_pull_request_branch",
    ),
    (
        "memory",
        "!create_entities !create_relations !add_observations !delete_entities !delete_observations !delete_relations \
         ~read_graph ~search_nodes ~open_nodes",
    ),
    ("postgres", "~query"),
    ("redis", "set ~get delete ~list"),
    ("sequential-thinking", "~sequentialthinking"),
    (
        "slack",
        "slack_post_message slack_reply_to_thread slack_add_reaction ~slack_get_channel_history \
         ~slack_get_thread_replies ~slack_get_user_profile ~slack_get_users ~slack_list_channels",
    ),
    ("sqlite", "~read_query !write_query !create_table ~list_tables ~describe_table append_insight"),
    ("time", "~get_current_time ~convert_time"),
];

#[test]
fn ready_policies_are_right_for_every_tool_of_their_server() {
    let names: Vec<_> = READY.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, TOOLS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for ((name, text), (_, tools)) in READY.iter().zip(TOOLS) {
        let file = PolicyFile::parse(text, name).unwrap_or_else(|wrong| panic!("{wrong}"));
        assert!(file.warnings().is_empty(), "{name}: {:?}", file.warnings());
        let known: Vec<_> = tools.split_whitespace().map(|tool| tool.trim_start_matches(['!', '~'])).collect();
        assert_eq!(file.unknown_tools(name, &known), [], "{name}");
        let rules = file.rules(name);
        for tool in tools.split_whitespace() {
            let rule = rules.of(tool.trim_start_matches(['!', '~']));
            let locked = matches!(rule.locking, Locking::Keys(_));
            assert_eq!(locked, tool.starts_with('!'), "{name} {tool}");
            assert_eq!(rule.effect == Some(Effect::ReadOnly), tool.starts_with('~'), "{name} {tool}");
            assert_ne!(rule.locking, Locking::Default, "under serve, a default would lock nothing: {name} {tool}");
        }
    }
}

#[test]
fn every_ready_policy_is_a_file_and_every_file_is_a_ready_policy() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".toml")?.to_owned()))
        .collect();
    files.sort();
    assert_eq!(files, READY.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

#[test]
fn ready_policies_say_why() {
    for (name, text) in READY {
        let comments = text.lines().take_while(|line| line.starts_with('#')).count();
        assert!(comments >= 3, "{name}");
    }
}
