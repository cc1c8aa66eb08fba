//! Inventories as users write them, and as they get them wrong.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

use std::fs;
use std::path::Path;

use fleet::NamedHost;
use proptest::prelude::*;

/// The hosts of an inventory with this content; a name without `.yml` is one in INI form.
fn of(name: &str, content: &str, pattern: &str) -> Result<Vec<NamedHost>, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    fs::write(&file, content).expect("a file");
    let text = if pattern.is_empty() { path(&file) } else { format!("{}:{pattern}", path(&file)) };
    fleet::hosts(&text).map_err(|error| error.to_string().replace(&path(folder.path()), ""))
}

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn names(hosts: Result<Vec<NamedHost>, String>) -> String {
    let hosts = hosts.expect("hosts");
    hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(" ")
}

/// The command of a host, without the options that every ssh gets.
fn command(host: &NamedHost) -> String {
    let words = host.command.join(" ");
    let options = "-o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3 ";
    words.replace(options, "")
}

const INI: &str = "\
# a rack
bastion ansible_host=10.0.0.1 ansible_port=2222

[web]
n[1:3] ansible_user=bench   # three
[db]
n3
d1 ansible_connection=local
d2 ansible_connection=podman ansible_host=box

[rack:children]
web
db

[rack:vars]
ansible_user = \"operator\"
ansible_ssh_common_args='-F /etc/lab config'
";

#[test]
fn an_ini_inventory_has_groups_variables_and_ranges() {
    assert_eq!(names(of("hosts", INI, "")), "bastion n1 n2 n3 d1 d2");
    let hosts = of("hosts", INI, "").unwrap();
    let commands: Vec<String> = hosts.iter().map(command).collect();
    assert_eq!(commands[0], "ssh -p 2222 10.0.0.1");
    assert_eq!(commands[1], "ssh -F /etc/lab config -l bench n1", "a host's own variable wins");
    assert_eq!(commands[4..], ["", "podman exec -i box"]);
}

#[test]
fn patterns_select_hosts_and_groups() {
    for (pattern, expected) in [
        ("web", "n1 n2 n3"),
        ("web:!n2", "n1 n3"),
        ("web,d*", "n1 n2 n3 d1 d2"),
        ("web:&db", "n3"),
        ("rack:!web", "d1 d2"),
        ("n[1-2]", "n1 n2"),
        ("!rack", "bastion"),
        ("r*", "n1 n2 n3 d1 d2"),
        ("all", "bastion n1 n2 n3 d1 d2"),
    ] {
        assert_eq!(names(of("hosts", INI, pattern)), expected, "{pattern}");
    }
    for pattern in ["wbe", "web,wbe", "web:!wbe", "web:&wbe"] {
        let refused = of("hosts", INI, pattern).expect_err("a misspelled group");
        assert!(refused.contains("matches wbe; there are db, rack, ungrouped, web"), "{refused}");
    }
    let refused = of("hosts", INI, "n[1-4]").expect_err("a host that is not there");
    assert!(refused.contains("there is no host n4"), "{refused}");
    let refused = of("hosts", INI, "web:!web").expect_err("nobody");
    assert!(refused.contains("web:!web selects no host"), "{refused}");
}

const YAML: &str = "\
all:
  vars: {ansible_user: operator}
  children:
    web:
      hosts:
        n[1:2]:
        n3: {ansible_port: 2222, ansible_become: true}
      vars:
        ansible_user: bench
    db:
      hosts: {d1: {ansible_host: 10.0.0.9, ansible_user: ~}}
";

#[test]
fn a_yaml_inventory_says_the_same() {
    let hosts = of("hosts.yml", YAML, "").unwrap();
    let commands: Vec<String> = hosts.iter().map(command).collect();
    assert_eq!(
        commands,
        ["ssh -l bench n1", "ssh -l bench n2", "ssh -p 2222 -l bench n3 sudo -n", "ssh 10.0.0.9"]
    );
    assert_eq!(names(of("hosts", YAML, "db")), "d1", "YAML without the ending");
    let listed = r#"{"_meta": {"hostvars": {"n1": {"ansible_port": 22, "x": [1]}}},
                     "all": {"children": ["ungrouped", "web"]}, "web": {"hosts": ["n1"]}}"#;
    let hosts = of("list.json", listed, "web").unwrap();
    assert_eq!(command(&hosts[0]), "ssh -p 22 n1", "the output of ansible-inventory --list");
}

#[test]
fn lines_have_any_command() {
    let lines = "# SLURM\nn[1-2] = srun -w {} --overlap\n\npod=kubectl exec -i 'a b' --\nhere=\n";
    let hosts = of("hosts", lines, "").unwrap();
    let words: Vec<String> = hosts.iter().map(|host| host.command.join("|")).collect();
    assert_eq!(words[1..], ["srun|-w|n2|--overlap", "kubectl|exec|-i|a b|--", ""]);
    assert_eq!(names(of("hosts", lines, "n*,here")), "n1 n2 here");
    assert_eq!(names(fleet::hosts("n[08-10]=ssh {}").map_err(|error| error.to_string())), "n08 n09 n10");
    let listed = fleet::listed(&["n1,n[2-3]=ssh -p 22 {}", "here="]).unwrap();
    assert_eq!(
        listed.iter().map(command).collect::<Vec<_>>(),
        ["ssh n1", "ssh -p 22 n2", "ssh -p 22 n3", ""]
    );
}

#[test]
fn errors_name_the_place_and_the_remedy() {
    for (name, content, expected) in [
        ("hosts", "n1=ssh a\nn1=ssh b\n", "two hosts are called n1; give each a name of its own"),
        ("hosts", "n1=ssh 'a\n", "hosts, line 1: a quotation mark of its command is not closed"),
        ("hosts", "n[1-3]=ssh a\n", "hosts, line 1: its command is the same for all hosts; write {}"),
        ("hosts", "[web]\nn1 user\n", "hosts, line 2: user is no KEY=VALUE of n1"),
        ("hosts", "[web:hosts]\n", "line 1: there is no section :hosts; there are :vars and :children"),
        ("hosts", "[web\nn1\n", "line 1: a section is written [NAME]"),
        ("hosts", "n[3:1]\n", "hosts, line 1: n[3:1]: 3:1 is no range"),
        (
            "hosts",
            "n1 ansible_port={{port}}\n",
            "ansible_port of n1 is a template, {{port}}; write its value",
        ),
        (
            "hosts",
            "n1 ansible_connection=winrm\n",
            "ansible_connection=winrm of n1 is not known; set osdyno_command",
        ),
        ("hosts", "", "all selects no host; there are no hosts"),
        ("hosts.yml", "all: {hosts: [n1\n", "hosts.yml, line "),
        ("hosts.yml", "- n1\n", "it is no mapping of groups"),
        (
            "hosts.yml",
            "all: {hosts: {n1: &a {x: 1}, n2: *a}}\n",
            "aliases (*name) are read by ansible-inventory(1)",
        ),
    ] {
        let refused = of(name, content, "").expect_err(content);
        assert!(refused.contains(expected), "{content:?}: {refused}");
    }
    let nothing = fleet::hosts("no-such-file").expect_err("no file").to_string();
    assert!(nothing.contains("no-such-file is no file, and no set of hosts"), "{nothing}");
    assert!(fleet::listed(&["n1", "n1"]).is_err() && fleet::listed(&["n[1"]).is_err());
}

#[test]
fn groups_that_hold_each_other_end_and_deep_ones_too() {
    let chain: String = (0..5_000).map(|number| format!("[g{number}:children]\ng{}\n", number + 1)).collect();
    assert_eq!(names(of("hosts", &format!("{chain}[g5000]\nn1\n"), "g0")), "n1");
    let circle = "[a:children]\nb\n[b:children]\na\n[b]\nn1\n";
    assert_eq!(names(of("hosts", circle, "a")), "n1");
}

proptest! {
    #[test]
    fn nothing_in_an_inventory_is_a_panic(content in "[ \\[\\]:=,!&*a-c0-9{}'\"\n#-]{0,120}", yaml: bool) {
        let name = if yaml { "hosts.yml" } else { "hosts" };
        let _ = of(name, &content, "");
        let _ = fleet::listed(&[content]);
    }
}
