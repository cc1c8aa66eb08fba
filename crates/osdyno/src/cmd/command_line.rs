//! The command line, for the record.

use std::path::Path;

use ::judge::gate::Gate;
use runner::Target;

use super::warn;

/// Parts of the names of options and variables whose values give access, as in `--password` and `PGPASSWORD`.
const SECRET: [&str; 7] = ["password", "passwd", "passphrase", "token", "secret", "api-key", "apikey"];
/// Fields of HTTP that do so.
const FIELDS: [&str; 3] = ["authorization:", "proxy-authorization:", "cookie:"];

/// The words of the command line, for that run file. A remark names those that look like credentials, there
/// and in the commands of hosts, because others may read the file.
pub(crate) fn recorded_in(file: &Path, targets: &[Target]) -> Vec<String> {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let of_hosts = targets.iter().filter(|target| target.fleet.is_some()).flat_map(|target| &target.prefix);
    let found = credentials(&words.iter().chain(of_hosts).cloned().collect::<Vec<_>>());
    if !found.is_empty() {
        warn(&format!(
            "{} will hold the command line, which seems to contain credentials ({}): keep it private, or \
             have the command read them from a file",
            file.display(),
            found.join(", ")
        ));
    }
    words
}

/// The command line for a shell, to be printed where others may read it: without what looks like credentials,
/// and without the name of a file that is there by now.
pub(crate) fn to_repeat() -> String {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    repeated(&words)
}

fn repeated(words: &[String]) -> String {
    let is_run = words.first().is_some_and(|verb| verb == "run");
    let mut shown = vec!["osdyno".to_owned()];
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" | "--out" if is_run => drop(words.next()),
            out if is_run && out.starts_with("--out=") => {}
            word if !credentials(&[word.to_owned()]).is_empty() => {
                let name = word.split('=').next().unwrap_or_default();
                shown.push(format!("{}=…", ::report::shell::quoted(name)));
            }
            word => shown.push(::report::shell::quoted(word)),
        }
    }
    shown.join(" ")
}

/// The names of apparent credentials, without their values. A command may stand in one word, as in
/// `--system`.
fn credentials(words: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for word in words.iter().flat_map(|word| word.split_whitespace()) {
        let name = word.split('=').next().unwrap_or_default().trim_matches(['\'', '"']);
        let plain = name.to_lowercase().replace('_', "-");
        // An option may have its value behind it; a variable has it in the same word.
        let is_named = (name.starts_with("--") || word.contains('=')) && !name.contains('/');
        let is_secret = is_named && SECRET.iter().any(|part| plain.contains(part));
        let credential = match () {
            () if is_secret || FIELDS.contains(&&*plain) => Some(name.trim_end_matches(':').to_owned()),
            () => user_with_password(word).map(|user| format!("the password of {user}")),
        };
        found.extend(credential.filter(|credential| !found.contains(credential)));
    }
    found
}

/// The user in `user:password@host`, with or without a scheme before it. A claim of a gate, as
/// `slower:5%@fork*`, looks like it.
fn user_with_password(word: &str) -> Option<&str> {
    if Gate::parse(word.trim_start_matches("--fail-on=")).is_ok() {
        return None;
    }
    let rest = word.rsplit_once("://").map_or(word, |(_, rest)| rest);
    let (credentials, host) = rest.split('/').next()?.rsplit_once('@')?;
    let (user, password) = credentials.split_once(':')?;
    let user = user.rsplit(['=', '\'', '"']).next()?;
    (!user.is_empty() && !password.is_empty() && !host.is_empty()).then_some(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(words: &[&str]) -> Vec<String> {
        credentials(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn credentials_are_named_and_never_shown() {
        for (word, named) in [
            ("db=psql --password=hunter2 -c", "--password"),
            ("x=mysql --password hunter2", "--password"),
            ("x=env PGPASSWORD=hunter2 psql", "PGPASSWORD"),
            ("x=env API_KEY='hunter2' run", "API_KEY"),
            ("x=curl --oauth2-token hunter2", "--oauth2-token"),
            ("postgres://me:hunter2@db.test/one", "the password of me"),
            ("x=smbclient me:hunter2@host", "the password of me"),
            ("x=curl -H 'Authorization: Bearer hunter2'", "Authorization"),
        ] {
            assert_eq!(found(&["osdyno", "run", "--system", word]), [named], "{word}");
        }
        assert_eq!(found(&["PASSWORD=a", "PASSWORD=b", "--token=c"]), ["PASSWORD", "--token"]);
    }

    #[test]
    fn a_command_to_repeat_shows_no_credentials_and_names_no_file_that_is_there() {
        let repeat =
            |words: &[&str]| repeated(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let command = ["run", "fork", "--out", "a.osdyno", "--system", "head=nice -n 10", "--out=b.osdyno"];
        assert_eq!(repeat(&command), "osdyno run fork --system 'head=nice -n 10'");
        let secret = repeat(&["run", "--system", "x=env PGPASSWORD=hunter2 psql"]);
        assert_eq!(secret, "osdyno run --system x=…");
        assert_eq!(repeat(&["compare", "a", "--out", "page.html"]), "osdyno compare a --out page.html");
    }

    #[test]
    fn other_words_are_no_credentials() {
        for word in [
            "far=ssh me@host",
            "far=ssh -p 22 me@host cp me@host:/tmp/token .",
            "http://[::1]:8080/a:b@c",
            "x=cat /run/secrets/token=1",
            "--set=files=20",
            "token",
            "me:@host",
            "slower:5%@fork*",
            "--fail-on=grows,slower:5%@fork*",
        ] {
            assert_eq!(found(&[word]), [""; 0], "{word}");
        }
    }
}
