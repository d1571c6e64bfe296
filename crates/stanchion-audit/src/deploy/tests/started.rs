//! What the code itself starts.

use super::super::started;

/// What a file says of copies of the program, by line.
fn of_itself(path: &str, text: &str) -> Vec<String> {
    let module = crate::frontend::lower(crate::frontend::Dialect::of(path).unwrap(), text).unwrap();
    let facts = started(&crate::models::Models::new(&[]).unwrap(), path, &module);
    facts.iter().map(|fact| format!("{}: {}", fact.line, fact.text)).collect()
}

#[test]
fn code_that_starts_copies_of_itself_says_so() {
    let forks = ["2: `cluster.fork` starts further processes"];
    for import in [
        "import cluster from 'node:cluster';",
        "import * as c from \"cluster\"; const cluster = 1;",
        "const c = require('cluster');",
        "const { fork } = require('node:cluster');",
        "import { fork as again } from 'cluster';",
    ] {
        let call = match import {
            _ if import.contains("again") => "again()",
            _ if import.contains("{ fork }") => "fork()",
            _ if import.contains("cluster from") => "if (cluster.isPrimary) cpus().forEach(() => cluster.fork());",
            _ => "for (let i = 0; i < 4; i++) (c as any).fork();",
        };
        assert_eq!(of_itself("a.ts", &format!("{import}\n{call}")), forks, "{import}");
    }
    for other in [
        "import { fork } from 'child_process';\nfork('./worker.js');",
        "const cluster = { fork() {} };\ncluster.fork();",
        "import { Cluster } from 'ioredis';\nnew Cluster([]).fork();",
    ] {
        assert!(of_itself("a.ts", other).is_empty(), "{other}");
    }
    assert!(of_itself("tests/a.ts", "import c from 'cluster';\nc.fork();").is_empty());
    assert_eq!(
        of_itself("a.js", "const pm2 = require('pm2');\npm2.start({ script: 'a.js', instances: 4 }, done);"),
        ["2: `pm2.start` with 4 workers"]
    );
}

#[test]
fn application_servers_that_code_starts_have_workers() {
    let run = |rest: &str| {
        of_itself("main.py", &format!("import os, uvicorn\nN = 3\ndef main():\n    uvicorn.run('a:app', {rest})\n"))
    };
    assert_eq!(run("port=80, workers=4"), ["4: `uvicorn.run` with 4 workers"]);
    assert_eq!(run("workers=N"), ["4: `uvicorn.run` with 3 workers"]);
    assert_eq!(run("workers=os.cpu_count() * 2 + 1"), ["4: `uvicorn.run` with several workers"]);
    // One that starts itself with one worker can be started again, and what nobody can tell is not one.
    assert_eq!(run("workers=1"), Vec::<String>::new());
    assert_eq!(run("port=80"), Vec::<String>::new());
    assert_eq!(run("workers=settings.workers"), Vec::<String>::new());
    assert_eq!(
        of_itself("main.py", "from granian import Granian\nGranian('a:app', workers=2).serve()\n"),
        ["2: `granian.Granian` with 2 workers"]
    );
    let extended = "import multiprocessing\nfrom gunicorn.app.base import BaseApplication\n\
                    class A(BaseApplication):\n    pass\ndef many():\n    return multiprocessing.cpu_count() * 2\n\
                    A(app, {'bind': ':80', 'workers': many()}).run()\n";
    assert_eq!(of_itself("main.py", extended), ["7: an application server with several workers"]);
    assert_eq!(of_itself("main.py", "OPTIONS = {'workers': 4}\n"), Vec::<String>::new());
    assert_eq!(
        of_itself("main.py", "import subprocess\nsubprocess.run(['gunicorn', '-w', '4', 'a:app'])\n"),
        ["2: gunicorn with 4 workers"]
    );
    // A command that is about something else.
    let other = "import subprocess\nsubprocess.run(['kubectl', 'scale', 'web', '--replicas=3'])\n";
    assert_eq!(of_itself("main.py", other), Vec::<String>::new());
}

#[test]
fn an_option_that_is_called_like_a_count_of_processors_says_nothing() {
    let serve = "import uvicorn\ndef serve(cpus=1):\n    uvicorn.run('a:app', workers=cpus)\n";
    assert_eq!(of_itself("main.py", serve), Vec::<String>::new());
    let own =
        "import pm2 from 'pm2';\nfunction cpus() { return 1; }\npm2.start({ script: 'a.js', instances: cpus() });";
    assert_eq!(of_itself("a.ts", own), Vec::<String>::new());
    let option = "import pm2 from 'pm2';\npm2.start({ script: 'a.js', instances: opts.cpus });";
    assert_eq!(of_itself("a.ts", option), Vec::<String>::new());
}

#[test]
fn libraries_are_asked_for_the_number_of_processors() {
    let many = ["3: `pm2.start` with several workers"];
    for (import, number) in [
        ("import os from 'node:os';", "os.cpus().length"),
        ("import { cpus } from 'os';", "cpus().length - 1"),
        ("const { availableParallelism: many } = require('node:os');", "many()"),
        ("", "require('os').cpus().length"),
    ] {
        let text = format!("import pm2 from 'pm2';\n{import}\npm2.start({{ script: 'a.js', instances: {number} }});");
        assert_eq!(of_itself("a.ts", &text), many, "{text}");
    }
    let python = "from multiprocessing import cpu_count\nimport uvicorn\nuvicorn.run('a:app', workers=cpu_count())\n";
    assert_eq!(of_itself("main.py", python), ["3: `uvicorn.run` with several workers"]);
}
