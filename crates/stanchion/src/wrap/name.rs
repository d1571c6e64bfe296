//! The default name of a server: what is run, not where it lies nor how it is set up.
//!
//! Processes of one server have to find one name, because the name is their lock; so versions, options, paths and the
//! environment are left out. Two servers that share a name only wait for each other.

use std::ffi::OsString;
use std::path::Path;

use sha2::{Digest as _, Sha256};

const MAX: usize = 64;

/// How deep commands that start commands are looked into.
const DEPTH: usize = 4;

/// The largest `package.json` that is read.
const PACKAGE_MAX: u64 = 1 << 20;

/// Options that take the next word, by program.
const NPX: &str = "\
    -p --package -c --call --registry --prefix --cache --userconfig -w --workspace --loglevel -C --dir --filter \
    -F";
const UV: &str = "\
    --from --with -w --with-editable --with-requirements -p --python --directory --project --index --index-url \
    -i --extra-index-url --default-index -f --find-links --cache-dir --config-file --env-file --extra --group \
    --refresh-package -P --upgrade-package --spec --pip-args --index-strategy --prerelease --exclude-newer \
    --color --resolution -c -b --constraints --overrides --package";
const PYTHON: &str = "\
    -W -X --check-hash-based-pycs";
const NODE: &str = "\
    -r --require --import --loader --experimental-loader --env-file -C --conditions --title --tsconfig -P \
    --project -c --config --cwd --preload --import-map --lock --cert";
const DOCKER: &str = "\
    -e --env --env-file -v --volume --mount --tmpfs -p --publish --expose --name --network --net --network-alias \
    -w --workdir -u --user --entrypoint --platform -h --hostname -l --label --label-file --add-host --dns --cpus \
    -c --cpu-shares -m --memory --memory-swap --pull --restart --gpus --device --security-opt --cap-add \
    --cap-drop --ulimit --log-driver --log-opt --shm-size --stop-signal --stop-timeout --runtime --ipc --pid \
    --pids-limit --group-add --link --volumes-from --cidfile -a --attach --sysctl --userns --uts --ip \
    --mac-address --annotation --cgroupns --context -H --host --config --log-level --detach-keys";
const JAVA: &str = "\
    -cp -classpath --class-path -p --module-path --add-modules";

/// What a server is called unless `--name` says it: at most 64 bytes of letters, digits and `@/._-`.
pub(crate) fn server_name(command: &[OsString]) -> String {
    let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    bounded(&named(&words, 0))
}

fn named(words: &[&str], depth: usize) -> String {
    let Some((program, args)) = words.split_first() else { return String::new() };
    let program = file_stem(program);
    let own = || program.to_owned();
    let inner = |words: &[&str]| if depth < DEPTH && !words.is_empty() { named(words, depth + 1) } else { own() };
    match program.to_ascii_lowercase().as_str() {
        "npx" | "pnpx" | "bunx" => npm(args).unwrap_or_else(own),
        "npm" | "pnpm" | "yarn" | "bun" | "cnpm" => node_manager(args).unwrap_or_else(own),
        "uvx" => python_tool(args).unwrap_or_else(own),
        "uv" | "pipx" => uv(args, depth).unwrap_or_else(own),
        "deno" => deno(args).unwrap_or_else(own),
        "node" | "nodejs" | "tsx" | "ts-node" => script(first(args, NODE)).unwrap_or_else(own),
        "docker" | "podman" | "nerdctl" => image(args).unwrap_or_else(own),
        "java" => java(args).unwrap_or_else(own),
        "go" | "dotnet" | "dnx" => built(args).unwrap_or_else(own),
        "cmd" => inner(after(args, |word| word.eq_ignore_ascii_case("/c") || word.eq_ignore_ascii_case("/k"))),
        "sh" | "bash" | "zsh" | "dash" | "fish" | "ksh" => shell(program, args, depth),
        "env" | "sudo" | "doas" | "nice" | "nohup" | "time" | "setsid" | "ionice" | "exec" => {
            inner(after_assignments(args))
        }
        "mise" | "asdf" | "direnv" | "doppler" | "op" | "dotenv" | "dotenvx" | "infisical" | "stanchion" => {
            inner(after(args, |word| word == "--"))
        }
        name if is_python(name) => python(program, args),
        _ => own(),
    }
}

/// The words behind the first that is meant.
fn after<'a, 'b>(words: &'b [&'a str], is: impl Fn(&str) -> bool) -> &'b [&'a str] {
    words.iter().position(|word| is(word)).map_or(&[], |at| &words[at + 1..])
}

/// `env`'s command: behind options and `NAME=value`.
fn after_assignments<'a, 'b>(words: &'b [&'a str]) -> &'b [&'a str] {
    let at = words.iter().position(|word| !word.starts_with('-') && !word.contains('='));
    at.map_or(&[], |at| &words[at..])
}

fn is_one_of(word: &str, list: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

/// The place of the first word that is neither an option nor the value of one.
fn position(args: &[&str], with_value: &str) -> Option<usize> {
    let mut at = 0;
    while at < args.len() {
        let word = args[at];
        if word == "--" {
            return (at + 1 < args.len()).then_some(at + 1);
        }
        if !word.starts_with('-') || word == "-" {
            return Some(at);
        }
        at += if is_one_of(word, with_value) || ends_in_option_with_value(word, with_value) { 2 } else { 1 };
    }
    None
}

/// `-ie` is `-i -e`, and takes the next word; `-eNAME` has its value in itself.
fn ends_in_option_with_value(word: &str, with_value: &str) -> bool {
    let letters: Vec<char> = word.chars().skip(1).collect();
    let takes = |letter: &char| is_one_of(&format!("-{letter}"), with_value);
    !word.starts_with("--") && letters.len() > 1 && letters.iter().position(takes) == Some(letters.len() - 1)
}

fn first<'a>(args: &[&'a str], with_value: &str) -> Option<&'a str> {
    position(args, with_value).map(|at| args[at])
}

/// The value of an option before the first plain word, as `--name value` or `--name=value`.
fn option<'a>(args: &[&'a str], names: &[&str], with_value: &str) -> Option<&'a str> {
    let end = position(args, with_value).unwrap_or(args.len());
    args[..end].iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
        Some((name, value)) if names.contains(&name) => Some(value),
        _ if names.contains(word) => args.get(at + 1).copied(),
        _ => None,
    })
}

fn npm(args: &[&str]) -> Option<String> {
    let at = position(args, NPX)?;
    let run = args[at];
    let package = option(args, &["-p", "--package"], NPX).filter(|package| !is_place(package)).unwrap_or(run);
    let name = npm_package(package)?;
    if name != "mcp-remote" {
        return Some(name);
    }
    // It stands for whatever it is connected to.
    let host = args[at + 1..].iter().find_map(|word| host(word));
    Some(host.map_or_else(|| name.clone(), |host| format!("{name}/{host}")))
}

fn host(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let authority = rest.split(['/', '?', '#']).next()?;
    Some(authority.rsplit('@').next().unwrap_or(authority))
}

fn npm_package(spec: &str) -> Option<String> {
    let spec = spec.strip_prefix("npm:").or_else(|| spec.strip_prefix("jsr:")).unwrap_or(spec);
    if is_place(spec) {
        return place(spec);
    }
    // The first letter may be the `@` of a scope.
    let version = spec.char_indices().skip(1).find(|(_, c)| *c == '@').map_or(spec.len(), |(at, _)| at);
    let name = &spec[..version];
    // `npm:@scope/name@1/path/in/it` of deno: a package has one slash with a scope, and none without.
    let parts: Vec<&str> = name.split('/').take(if name.starts_with('@') { 2 } else { 1 }).collect();
    Some(parts.join("/")).filter(|name| !name.is_empty())
}

/// A folder, an archive or a URL instead of a package.
fn is_place(spec: &str) -> bool {
    spec.contains("://")
        || spec.starts_with(['.', '/', '~', '\\'])
        || spec.starts_with("git+")
        || spec.starts_with("file:")
        || spec.starts_with("github:")
        || spec.as_bytes().get(1) == Some(&b':')
}

/// The last part of a place. The rest of a URL may hold secrets, and the rest of a path is where it lies.
fn place(spec: &str) -> Option<String> {
    let spec = spec.split(['?', '#']).next().unwrap_or(spec);
    let last = spec.rsplit(['/', '\\', ':']).find(|part| !part.is_empty())?;
    let last = last.split('@').next().unwrap_or(last);
    let last =
        [".git", ".tgz", ".tar.gz", ".whl", ".zip"].iter().find_map(|end| last.strip_suffix(end)).unwrap_or(last);
    Some(last.to_owned()).filter(|name| !name.is_empty() && !name.bytes().all(|byte| byte == b'.'))
}

fn node_manager(args: &[&str]) -> Option<String> {
    let at = position(args, NPX)?;
    let rest = &args[at + 1..];
    match args[at] {
        "exec" | "x" | "dlx" => npm(rest),
        "run" | "start" | "run-script" | "test" => script(first(rest, NODE).filter(|word| is_script(word))),
        word if is_script(word) => script(Some(word)),
        _ => None,
    }
}

fn deno(args: &[&str]) -> Option<String> {
    let at = position(args, NODE)?;
    let run = match args[at] {
        "run" | "x" | "serve" => first(&args[at + 1..], NODE)?,
        run => run,
    };
    if run.starts_with("npm:") || run.starts_with("jsr:") { npm_package(run) } else { script(Some(run)) }
}

fn is_script(word: &str) -> bool {
    let ending = word.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| ["js", "mjs", "cjs", "ts", "mts", "cts", "tsx", "jsx", "py"].contains(&ending))
}

fn script(file: Option<&str>) -> Option<String> {
    let file = file?;
    if file.contains("://") {
        return place(file).map(|name| file_stem(&name).to_owned());
    }
    package_above(Path::new(file)).or_else(|| Some(file_stem(file).to_owned()))
}

/// The name in the nearest `package.json` that has one: what `npx` calls the same server.
fn package_above(file: &Path) -> Option<String> {
    let file = std::path::absolute(file).ok()?;
    let file = file.canonicalize().unwrap_or(file);
    file.ancestors().skip(1).find_map(|dir| {
        let json = dir.join("package.json");
        if std::fs::metadata(&json).ok()?.len() > PACKAGE_MAX {
            return None;
        }
        let value: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(json).ok()?).ok()?;
        value["name"].as_str().map(str::to_owned).filter(|name| !name.is_empty())
    })
}

fn python_tool(args: &[&str]) -> Option<String> {
    let run = first(args, UV);
    let from = option(args, &["--from", "--spec"], UV).filter(|from| !is_place(from));
    python_package(from.or(run)?)
}

fn python_package(spec: &str) -> Option<String> {
    if is_place(spec) {
        return place(spec);
    }
    let name = spec.split(['[', '=', '<', '>', '!', '~', ';', '@', ' ']).next().unwrap_or(spec);
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

fn uv(args: &[&str], depth: usize) -> Option<String> {
    let at = position(args, UV)?;
    let rest = &args[at + 1..];
    match args[at] {
        "tool" if rest.first() == Some(&"run") => python_tool(&rest[1..]),
        // `pipx run` takes a package, `uv run` a command.
        "run" if option(rest, &["--spec"], UV).is_some() => python_tool(rest),
        "run" if rest.contains(&"-m") || rest.contains(&"--module") => {
            after(rest, |word| word == "-m" || word == "--module").first().map(|module| (*module).to_owned())
        }
        "run" => {
            let command = &rest[position(rest, UV)?..];
            match command {
                // The command line of the Python SDK: `mcp run server.py`.
                ["mcp" | "fastmcp", "run" | "dev", more @ ..] => script(first(more, UV)),
                [file, ..] if is_script(file) => script(Some(file)),
                [_, ..] if depth < DEPTH => Some(named(command, depth + 1)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_python(name: &str) -> bool {
    let version = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    name == "py" || version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

fn python(program: &str, args: &[&str]) -> String {
    let end = position(args, PYTHON).unwrap_or(args.len());
    if let Some(at) = args[..end].iter().position(|word| *word == "-m") {
        return args.get(at + 1).map_or_else(|| program.to_owned(), |module| (*module).to_owned());
    }
    if let Some(at) = args[..end].iter().position(|word| *word == "-c") {
        return with_digest(program, args.get(at + 1).unwrap_or(&""));
    }
    args.get(end).map_or_else(|| program.to_owned(), |file| file_stem(file).to_owned())
}

fn image(args: &[&str]) -> Option<String> {
    let mut at = position(args, DOCKER)?;
    if args[at] == "container" {
        at += 1;
    }
    let image = match *args.get(at)? {
        "run" | "exec" | "create" => first(&args[at + 1..], DOCKER)?,
        _ => return None,
    };
    let image = image.split('@').next().unwrap_or(image);
    let name = image.rfind('/').map_or(0, |slash| slash + 1);
    let tag = image[name..].find(':').map_or(image.len(), |colon| name + colon);
    Some(image[..tag].to_owned())
}

fn java(args: &[&str]) -> Option<String> {
    match after(args, |word| word == "-jar").first() {
        Some(jar) => Some(without_version(file_stem(jar)).to_owned()),
        None => first(args, JAVA).map(str::to_owned),
    }
}

/// `server-1.2.3` without its version.
fn without_version(name: &str) -> &str {
    let is_version = |end: &str| end.starts_with(|c: char| c.is_ascii_digit());
    name.match_indices('-').find(|(at, _)| is_version(&name[at + 1..])).map_or(name, |(at, _)| &name[..at])
}

/// `go run example.org/x/server@latest`, `dotnet server.dll`, `dnx Package@1.0`.
fn built(args: &[&str]) -> Option<String> {
    let at = position(args, "")?;
    let run = match args[at] {
        "run" | "exec" => first(&args[at + 1..], "")?,
        run => run,
    };
    let run = run.split('@').next().unwrap_or(run);
    if is_place(run) || run.to_ascii_lowercase().ends_with(".dll") {
        return place(run).map(|name| file_stem(&name).to_owned());
    }
    Some(run.to_owned()).filter(|run| !run.is_empty())
}

fn shell(program: &str, args: &[&str], depth: usize) -> String {
    let is_script = |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let Some(at) = args.iter().position(is_script) else {
        return first(args, "").map_or_else(|| program.to_owned(), |file| file_stem(file).to_owned());
    };
    let line = args.get(at + 1).copied().unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || " @/._-=:+,".contains(c);
    if depth < DEPTH && !line.trim().is_empty() && line.chars().all(plain) {
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty() && *word != "exec").collect();
        return named(&words, depth + 1);
    }
    // What the line means, only the shell knows.
    with_digest(program, line)
}

/// Endings that are no part of a name.
const ENDINGS: &str =
    ".exe .cmd .bat .ps1 .com .sh .js .mjs .cjs .ts .mts .cts .tsx .jsx .py .pyz .jar .dll .rb .pl .php .appimage";

/// The file's name without folders and ending, for paths of any system.
fn file_stem(path: &str) -> &str {
    let name = path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(path);
    let ending = name.rfind('.').filter(|at| *at > 0 && is_one_of(&name[*at..].to_ascii_lowercase(), ENDINGS));
    ending.map_or(name, |at| &name[..at])
}

fn with_digest(name: &str, of: &str) -> String {
    let digest: String = Sha256::digest(of.as_bytes()).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{name}-{digest}")
}

/// Names are parts of keys and are shown: a strange or long one is made plain, and stays different from others.
fn bounded(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@/._-".contains(c);
    if name.is_empty() {
        return "server".to_owned();
    }
    if name.len() <= MAX && name.chars().all(is_plain) {
        return name.to_owned();
    }
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '-' }).take(MAX - 9).collect();
    with_digest(&plain, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words are separated by spaces, or, for lines that need spaces in words, by `|`.
    fn name(line: &str) -> String {
        let separator = if line.contains('|') { '|' } else { ' ' };
        server_name(&line.split(separator).filter(|word| !word.is_empty()).map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_server_is_called_what_is_run() {
        let rows = [
            // npm
            ("npx -y @modelcontextprotocol/server-memory@2026.8.31 ARGS", "@modelcontextprotocol/server-memory"),
            ("npx -y @modelcontextprotocol/server-memory", "@modelcontextprotocol/server-memory"),
            ("npx --yes server-everything@latest stdio", "server-everything"),
            ("npx -y --registry https://r.example/ tool", "tool"),
            ("npx --package=@scope/pkg@1 bin arg", "@scope/pkg"),
            ("npx -p @scope/pkg -y bin", "@scope/pkg"),
            ("npx -p github:me/thing bin", "bin"),
            ("npx -y github:me/thing", "thing"),
            ("npx -y git+https://user:secret@git.example/me/thing.git#main", "thing"),
            ("npx ./local/thing-server", "thing-server"),
            ("npx", "npx"),
            ("npx -y", "npx"),
            ("/usr/local/bin/npx -y pkg", "pkg"),
            (r"C:\Program Files\nodejs\npx.cmd|-y|@scope/pkg@1.0.0|C:\data", "@scope/pkg"),
            (r"cmd /c npx -y @scope/pkg", "@scope/pkg"),
            (r"cmd.exe /C uvx mcp-server-git", "mcp-server-git"),
            ("npm exec -- pkg@2 arg", "pkg"),
            ("npm exec --package=@scope/pkg -- bin", "@scope/pkg"),
            ("npm x -y pkg", "pkg"),
            ("pnpm dlx @scope/pkg@next", "@scope/pkg"),
            ("pnpm --silent dlx pkg", "pkg"),
            ("yarn dlx -q pkg", "pkg"),
            ("bunx pkg@1", "pkg"),
            ("bun x @scope/pkg", "@scope/pkg"),
            ("npm run start", "npm"),
            ("npx -y mcp-remote https://me:secret@mcp.example.org/sse?token=secret", "mcp-remote/mcp.example.org"),
            ("npx mcp-remote@latest https://mcp.example.com/mcp --header X:secret", "mcp-remote/mcp.example.com"),
            // deno
            ("deno run -A npm:@scope/pkg@1.2/main", "@scope/pkg"),
            ("deno run --allow-net npm:pkg", "pkg"),
            ("deno run -A jsr:@scope/pkg", "@scope/pkg"),
            ("deno run -A https://u:secret@host.example/x/server.ts?k=secret", "server"),
            // python
            ("uvx mcp-server-git --repository x", "mcp-server-git"),
            ("uvx mcp-server-git@1.2.3", "mcp-server-git"),
            ("uvx mcp-server-git==1.2.3", "mcp-server-git"),
            ("uvx --python 3.12 pkg[cli]>=2", "pkg"),
            ("uvx --from git+https://github.com/o/serena serena start-mcp-server", "serena"),
            ("uvx --from pkg[x]==1.0 tool", "pkg"),
            ("uv tool run mcp-server-git", "mcp-server-git"),
            ("uv --directory /srv/app run server.py", "server"),
            ("uv run --with mcp[cli] mcp run /srv/weather.py", "weather"),
            ("uv run --directory /srv/app my-server --flag", "my-server"),
            ("uv run python -m pkg.mod", "pkg.mod"),
            ("uv run -m pkg.mod", "pkg.mod"),
            ("pipx run --spec pkg==1 tool", "pkg"),
            ("pipx run mcp-server-time", "mcp-server-time"),
            ("python -m pkg.mod --port 1", "pkg.mod"),
            ("python3.12 -u -W ignore -m pkg.mod", "pkg.mod"),
            ("/srv/.venv/bin/python /srv/app/weather.py -m x", "weather"),
            (r"C:\Python312\python.exe C:\app\weather.py", "weather"),
            // containers
            ("docker run -i --rm mcp/memory:latest", "mcp/memory"),
            ("docker run -i --rm -e TOKEN -v /a:/b --name n ghcr.io/o/img:1.2@sha256:abc arg", "ghcr.io/o/img"),
            ("docker run -ie TOKEN=secret mcp/memory", "mcp/memory"),
            ("docker run -eTOKEN=secret -it --mount type=bind,src=/a,dst=/b mcp/fs /b", "mcp/fs"),
            ("podman container run --rm img", "img"),
            ("docker exec -i box server", "box"),
            ("docker mcp gateway run", "docker"),
            // others
            ("java -Xmx1g -jar /opt/server-1.2.3.jar", "server"),
            ("go run example.org/x/server@latest", "example.org/x/server"),
            ("dotnet /srv/Server.dll", "Server"),
            ("env TOKEN=secret A=b npx -y pkg", "pkg"),
            ("mise exec node@22 -- npx -y pkg", "pkg"),
            ("sh|-c|exec npx -y @scope/pkg", "@scope/pkg"),
            ("bash /srv/start-server.sh", "start-server"),
            ("/usr/local/bin/github-mcp-server stdio", "github-mcp-server"),
            (r"C:\tools\Server.EXE", "Server"),
            ("./target/debug/my.server", "my.server"),
            ("node /nowhere/dist/server.js", "server"),
            ("node --env-file=.env -r dotenv/config /nowhere/dist/server.mjs", "server"),
            ("", "server"),
        ];
        let wrong: Vec<_> = rows.iter().filter(|(line, wanted)| name(line) != *wanted).collect();
        let got: Vec<_> = wrong.iter().map(|(line, _)| name(line)).collect();
        assert!(wrong.is_empty(), "{wrong:#?} are called {got:#?}");
    }

    #[test]
    fn a_script_is_called_as_its_package() {
        let dir = tempfile::tempdir().unwrap();
        let dist = dir.path().join("pkg/dist");
        std::fs::create_dir_all(&dist).unwrap();
        std::fs::write(dist.join("index.js"), "").unwrap();
        let run = |program: &str| server_name(&[program.into(), dist.join("index.js").into(), "index.ts".into()]);
        std::fs::write(dir.path().join("pkg/package.json"), "{\"name\":\"@scope/pkg\"}").unwrap();
        std::fs::write(dist.join("package.json"), "{\"type\":\"module\"}").unwrap();
        assert_eq!(["node", "tsx", "bun"].map(run), ["@scope/pkg"; 3]);
        std::fs::write(dir.path().join("pkg/package.json"), "damaged").unwrap();
        assert_eq!(run("node"), "index");
    }

    #[test]
    fn names_are_bounded_and_plain_and_stay_different() {
        let long = format!("npx -y {}", "x".repeat(200));
        let other = format!("{long}y");
        let names = [
            name(&long),
            name(&other),
            name("sh|-c|cd /srv && ./run one"),
            name("sh|-c|cd /srv && ./run two"),
            name("python|-c|print(1)"),
            name("docker run localhost:5000/img:1"),
            name("r\u{e9}sum\u{e9}"),
            name("r\u{e9}sum\u{e8}"),
            name("a\u{1b}b"),
        ];
        let plain = |c: char| c.is_ascii_alphanumeric() || "@/._-".contains(c);
        for name in &names {
            assert!(!name.is_empty() && name.len() <= MAX && name.chars().all(plain), "{name}");
        }
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(different.len(), names.len(), "{names:?}");
        assert_eq!(name(&long), name(&long));
    }

    #[test]
    fn commands_that_start_commands_are_followed_only_so_far() {
        let deep = format!("{}npx -y pkg", "env ".repeat(50));
        assert_eq!(name(&deep), "env");
    }
}
