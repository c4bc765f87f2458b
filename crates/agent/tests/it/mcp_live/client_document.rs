//! `agent mcp client-document`, and what doctor says about documents that are served.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use agent_test_support::command::{ProgramOutput, TestHome};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::{Value, json};

use super::{configure, configured};
use crate::command_line::agent;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/documents.py");
const URL: &str = "https://me.example.com/oauth/agent.json";

#[test]
fn a_document_is_overwritten_only_with_force() {
    let agent = agent();
    let file = agent.work().join("agent.json").display().to_string();
    let arguments = ["mcp", "client-document", "--url", URL, "--output", &file];
    fs::write(&file, "mine").unwrap();
    let run = agent.run(arguments);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("overwrite it with `--force`"), "{run:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let run = agent.run(arguments.iter().chain(&["--force", "--json"]));
    assert_eq!((run.code, &*run.stderr), (0, ""), "{run:?}");
    let told: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&told["file"], &told["url"]), (&json!(file), &json!(URL)), "{told}");
    let run = agent.run(["mcp", "client-document", "--url", URL, "--json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    let written: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!((&document, &*run.stderr), (&written, ""));
}

/// A web server of ours over TLS.
struct Web {
    process: Child,
    folder: PathBuf,
    origin: String,
}

impl Web {
    fn start(agent: &TestHome) -> Self {
        let folder = agent.work().join("web");
        fs::create_dir_all(&folder).unwrap();
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap());
        let authority = authority.unwrap();
        let key = KeyPair::generate().unwrap();
        let cert = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let cert = cert.signed_by(&key, &authority).unwrap();
        for (name, text) in [
            ("ca.pem", authority.pem()),
            ("cert.pem", cert.pem()),
            ("key.pem", key.serialize_pem()),
        ] {
            fs::write(folder.join(name), text).unwrap();
        }
        let mut process = Command::new("python3")
            .arg(SCRIPT)
            .arg(&folder)
            .args([folder.join("cert.pem"), folder.join("key.pem")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { process, folder, origin: format!("https://localhost:{}", port.trim()) }
    }

    /// Lets the program make a document for this path, and serves it.
    fn publish(&self, agent: &TestHome, path: &str) -> String {
        let url = format!("{}{path}", self.origin);
        let file = self.folder.join(path.rsplit('/').next().unwrap());
        let file = file.display().to_string();
        let run = agent.run(["mcp", "client-document", "--url", &url, "--output", &file]);
        assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{run:?}");
        url
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let file = self.folder.join(name);
        let mut document: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        change(&mut document);
        fs::write(file, document.to_string()).unwrap();
    }

    /// What doctor says about a server that would be shown the document at `url`.
    fn doctor(&self, agent: &TestHome, url: &str) -> ProgramOutput {
        let ca = self.folder.join("ca.pem");
        configure(
            agent,
            &format!(
                "mcp_servers:\n  docs:\n    url: {}/mcp\n    ssl_verify: {}\n    auth: oauth\n    \
                 headers: {{Authorization: Bearer sesame-9}}\n    oauth: {{client_metadata_url: '{url}'}}\n",
                self.origin,
                ca.display()
            ),
        );
        agent.run(["mcp", "doctor", "docs"])
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The lines about the document, each with its fix.
fn about_document(run: &ProgramOutput, origin: &str) -> Vec<String> {
    let text = run.stdout.replace(origin, "[web]");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let starts = lines.windows(2).filter(|pair| pair[0].contains("client document [web]"));
    starts.map(|pair| format!("{} | {}", pair[0], pair[1])).collect()
}

#[test]
fn doctor_names_the_rule_that_a_document_breaks() {
    let agent = agent();
    let web = Web::start(&agent);
    let says = |path: &str| {
        let run = web.doctor(&agent, &format!("{}{path}", web.origin));
        about_document(&run, &web.origin)
    };
    web.publish(&agent, "/good.json");
    let good = says("/good.json");
    let wanted = "good     docs: its client document [web]/good.json follows all four rules";
    assert!(good.len() == 1 && good[0].starts_with(wanted), "{good:?}");

    web.publish(&agent, "/page/page.json");
    web.publish(&agent, "/few.json");
    web.change("few.json", |document| {
        document["redirect_uris"].as_array_mut().unwrap().truncate(9);
    });
    web.publish(&agent, "/copied.json");
    web.change("copied.json", |document| document["client_id"] = json!(URL));
    fs::write(web.folder.join("words.json"), "words").unwrap();
    let print = "fix: print a valid one with `agent mcp client-document --url [web]";
    for (path, broken, fix) in [
        (
            "/none.json",
            "rule 2: it returns status 404 instead of 200",
            "fix: serve the document at",
        ),
        ("/moved/good.json", "rule 2: it redirects to /good.json", "fix: serve it there without"),
        (
            "/page/page.json",
            "rule 2: its content type is `text/html` instead of `application/json`",
            "fix: make the web server send `Content-Type: application/json`",
        ),
        ("/words.json", "rule 2: it is not a JSON object", print),
        (
            "/few.json",
            "rule 3: its `redirect_uris` are missing http://localhost:27894/callback",
            print,
        ),
        (
            "/copied.json",
            "rule 4: its `client_id` is `https://me.example.com/oauth/agent.json` instead of the \
             document URL",
            print,
        ),
    ] {
        let found = says(path);
        let wanted =
            format!("error    docs: its client document [web]{path} breaks {broken} | {fix}");
        assert!(found.len() == 1 && found[0].starts_with(&wanted), "{wanted}\n{found:?}");
    }
    web.change("few.json", |document| document["client_id"] = json!(URL));
    assert_eq!(says("/few.json").len(), 2, "each broken rule is its own finding");
    // Rule 1 is judged when the configuration is read, and nothing is fetched.
    let run = web.doctor(&agent, "http://me.example.com/agent.json");
    assert!(run.stdout.contains("is not a valid URL of a client document: it does not use https"));

    let requests = fs::read_to_string(web.folder.join("requests")).unwrap();
    let documents: Vec<&str> = requests.lines().filter(|line| line.contains(".json")).collect();
    assert_eq!(documents.len(), 8, "a redirect is not followed: {documents:?}");
    assert!(documents.iter().all(|line| line.ends_with(" None")), "{documents:?}");
}

#[test]
fn doctor_fetches_only_used_documents() {
    let agent = agent();
    let web = Web::start(&agent);
    let url = web.publish(&agent, "/good.json");
    let config = format!(
        "mcp: {{client_metadata_url: '{url}'}}\nmcp_servers:\n  a: {{url: '{0}/mcp', auth: oauth, \
         ssl_verify: {1}/ca.pem}}\n  b: {{url: '{0}/mcp', auth: oauth, ssl_verify: {1}/ca.pem}}\n  c: \
         {{url: '{0}/mcp', auth: oauth, ssl_verify: {1}/ca.pem, oauth: {{cimd: false}}}}\n  d: {{url: '{0}/mcp', auth: oauth, \
         ssl_verify: {1}/ca.pem, oauth: {{client_id: x, client_metadata_url: '{url}'}}}}\n  e: {{url: '{0}/mcp', ssl_verify: {1}/ca.pem}}\n",
        web.origin,
        web.folder.display()
    );
    configure(&agent, &config);
    let run = agent.run(["mcp", "doctor"]);
    let good: Vec<&str> = run.stdout.lines().filter(|line| line.contains("four rules")).collect();
    assert_eq!(good.len(), 2, "{run:?}");
    assert!(good[0].contains(" a: ") && good[1].contains(" b: "), "{good:?}");
    assert!(
        run.stdout.contains(
            "d: `oauth.client_metadata_url` is ignored, because `oauth.client_id` is set"
        )
    );
    let fetched = || {
        let requests = fs::read_to_string(web.folder.join("requests")).unwrap();
        requests.lines().filter(|line| line.contains("good.json")).count()
    };
    assert_eq!(fetched(), 1, "servers that share a document share its fetching");
    agent.run(["mcp", "doctor", "--offline"]);
    assert_eq!(fetched(), 1, "offline nothing is fetched");

    // An untrusted certificate is reported, and so is a server that is gone.
    configure(
        &agent,
        &config.replace(&format!("ssl_verify: {}/ca.pem", web.folder.display()), "x: 1"),
    );
    let run = agent.run(["mcp", "doctor", "a"]);
    assert!(run.stdout.contains("good.json: TLS connection to"), "{run:?}");
}

#[test]
fn a_document_is_created_for_a_url() {
    let agent = agent();
    let run =
        agent.run(["mcp", "client-document", "--url", URL, "--uri", "https://me.example.com/"]);
    insta::assert_snapshot!(run.transcript());

    let file = agent.work().join("agent.json");
    let args = ["mcp", "client-document", "--url", URL, "--name", "Ours", "--output"];
    let run = agent.run(args.into_iter().chain([file.to_str().unwrap()]));
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{run:?}");
    let document: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!((&document["client_id"], &document["client_name"]), (&json!(URL), &json!("Ours")));
    assert_eq!(document["redirect_uris"].as_array().unwrap().len(), 10);
}

#[test]
fn the_configured_url_is_used_and_an_invalid_one_rejected() {
    let agent = configured(&format!("mcp:\n  client_metadata_url: {URL}\n"));
    let run = agent.run(["mcp", "client-document", "--json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["client_id"], URL);

    configure(&agent, "mcp:\n  client_metadata_url: http://me.example.com/x\n");
    let run = agent.run(["mcp", "client-document"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("config.yaml:2:24: mcp.client_metadata_url: "), "{run:?}");

    configure(&agent, "");
    let run = agent.run(["mcp", "client-document"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("pass it with `--url`"), "{run:?}");
    for (wrong, why) in [
        (["--url", "https://me.example.com"].as_slice(), "it has no path"),
        (&["--url", "https://a@me.example.com/x"], "it has user information"),
        (&["--url", URL, "--name", " "], "`--name` must not be empty"),
        (&["--url", URL, "--uri", "javascript:alert(1)"], "`--uri` must be the URL of a page"),
    ] {
        let run = agent.run(["mcp", "client-document"].into_iter().chain(wrong.iter().copied()));
        assert!(run.code == 2 && run.stderr.contains(why), "{wrong:?}: {run:?}");
    }
    let run = agent.run(["mcp", "client-document", "--url", URL, "--output", "/no/such/folder/x"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("cannot write /no/such/folder/x"), "{run:?}");
}
