//! The table of errors in the documentation is the table in the code.

use stanchion_mcp::ProblemKind;

#[test]
fn the_documented_table_of_errors_is_the_one_in_the_code() {
    let text = include_str!("../../../../docs/gateway.md");
    let table = text.split("| `type` | as |").nth(1).expect("the table");
    let rows: Vec<Vec<String>> = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect())
        .collect();
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let expected: Vec<Vec<String>> = ProblemKind::ALL
        .iter()
        .map(|kind| {
            let said = kind.code().map_or_else(|| "result".to_owned(), |code| format!("error {code}"));
            vec![kind.as_str().to_owned(), said, yes(kind.is_retryable()), yes(kind.may_have_executed())]
        })
        .collect();
    let documented: Vec<Vec<String>> = rows.iter().map(|row| row[..4].to_vec()).collect();
    assert_eq!(documented, expected);
}
