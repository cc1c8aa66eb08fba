//! Parses `--set` and `--server`: the settings of workloads, where the server of a load runs, and whether
//! that address may be loaded and its clients can reach it.
//!
//! Several values of a setting are systems, because systems are interleaved, offered equal load and compared
//! in pairs already. Variants would need names such as `epoll workers=2`, and a ranking of each against all
//! others. A default stays out of the record, so that such a system can be compared with older runs.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use fleet::NamedHost;
use record::Server;
use workload::Workload;

use crate::Error;

/// `NAME=VALUE`, as on the command line.
///
/// # Errors
/// A sentence for the user.
pub fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE, such as per-folder=1000".to_owned()),
    }
}

/// Parses `ADDRESS`, where a server already runs, or `ADDRESS=COMMAND`, which starts programs there.
/// The address is a number, with a port or without: a name may mean another machine tomorrow. The command is
/// split into words as POSIX shells do.
///
/// # Errors
/// [`Error::Server`].
pub fn parse_server(text: &str) -> Result<Server, Error> {
    let refused = |reason| Error::Server { text: text.to_owned(), reason };
    let (address, command) = text.split_once('=').unwrap_or((text, ""));
    if ip(address).is_none() {
        return Err(refused("it is neither an IP address nor IP:PORT"));
    }
    let prefix = shlex::split(command).ok_or_else(|| refused("a quotation mark is not closed"))?;
    if prefix.first().is_some_and(String::is_empty) {
        return Err(refused("the command's first word is empty"));
    }
    Ok(Server { address: address.to_owned(), prefix })
}

/// The settings that the user chose for this workload. A default value is left out, so that equal settings
/// are equal maps; the last value of a setting counts.
///
/// # Errors
/// [`Error::SettingValue`] for a value that it does not have.
pub(crate) fn chosen_for(
    workload: &Workload,
    chosen: &[(String, String)],
) -> Result<BTreeMap<String, String>, Error> {
    let mut settings = BTreeMap::new();
    for (name, value) in chosen {
        let Some(setting) = workload.setting(name) else { continue };
        let parsed = setting.values.parse(value).ok_or_else(|| Error::SettingValue {
            name: name.clone(),
            value: if setting.values.may_be_secret() { "…".to_owned() } else { value.clone() },
            workload: workload.name,
            values: setting.values.to_string(),
        })?;
        settings.insert(name.clone(), parsed);
    }
    Ok(without_defaults(workload, settings))
}

/// The settings of the user, by the systems that have them.
#[derive(Debug, PartialEq)]
pub(crate) struct SettingsOfSystems {
    /// Those that all systems have.
    pub(crate) common: Vec<(String, String)>,
    /// Those in which systems differ: of each combination of several values those of one system, and of a run
    /// without such settings one empty list.
    pub(crate) combinations: Vec<Vec<(String, String)>>,
}

/// Takes apart the settings that have several values, as in `workers=1,2`. Each value is a system of its own,
/// interleaved with the others and compared with the first.
///
/// # Errors
/// [`Error::SettingValue`], and [`Error::SettingOfOthers`] where a workload would be measured several times
/// with the same settings.
pub(crate) fn of_systems(
    workloads: &[&'static Workload],
    chosen: &[(String, String)],
) -> Result<SettingsOfSystems, Error> {
    let mut of = SettingsOfSystems { common: Vec::new(), combinations: vec![Vec::new()] };
    for (place, (name, text)) in chosen.iter().enumerate() {
        let several = workloads.iter().find_map(|workload| workload.setting(name)?.values.several(text));
        let Some(values) = several else {
            of.common.push((name.clone(), text.clone()));
            continue;
        };
        if chosen[place + 1..].iter().any(|(later, _)| later == name) {
            continue;
        }
        // An earlier value of the same setting does not count.
        of.common.retain(|(earlier, _)| earlier != name);
        let mut parsed = Vec::new();
        for value in values {
            let own = [(name.clone(), value.to_owned())];
            let mut recorded = None;
            for workload in workloads {
                let setting = workload.setting(name);
                let Some(setting) = setting else {
                    return Err(Error::SettingOfOthers { name: name.clone(), workload: workload.name });
                };
                chosen_for(workload, &own)?;
                recorded = recorded.or_else(|| setting.values.parse(value));
            }
            parsed.extend(recorded);
        }
        let with = |before: &Vec<(String, String)>, value: &String| {
            [&before[..], &[(name.clone(), value.clone())]].concat()
        };
        let combined =
            of.combinations.iter().flat_map(|one| parsed.iter().map(move |value| with(one, value)));
        of.combinations = combined.collect();
    }
    Ok(of)
}

/// The settings of an item on a system that differs in these from others; a default value is left out.
pub(crate) fn on_system(
    workload: &Workload,
    common: &BTreeMap<String, String>,
    own: &[(String, String)],
) -> BTreeMap<String, String> {
    let mut settings = common.clone();
    settings.extend(own.iter().cloned());
    without_defaults(workload, settings)
}

fn without_defaults(workload: &Workload, mut settings: BTreeMap<String, String>) -> BTreeMap<String, String> {
    settings.retain(|name, value| workload.setting(name).is_some_and(|setting| setting.default != value));
    settings
}

/// Refuses a server beyond this machine and private networks: a load there affects other people.
///
/// # Errors
/// [`Error::PublicServer`].
pub(crate) fn refuse_public_url(workload: &Workload, chosen: &BTreeMap<String, String>) -> Result<(), Error> {
    let urls = chosen.iter().filter_map(|(name, value)| workload.setting(name)?.values.url(value));
    match urls.map(|url| url.address).find(|&address| !sys::address::is_private(address)) {
        Some(address) => Err(Error::PublicServer { address: address.to_string() }),
        None => Ok(()),
    }
}

/// Refuses a setting that none of these workloads has.
///
/// # Errors
/// [`Error::UnknownSetting`], which names the existing ones.
pub(crate) fn refuse_unknown(
    chosen: &[(String, String)],
    workloads: &[&'static Workload],
) -> Result<(), Error> {
    let mut known: Vec<String> = Vec::new();
    for workload in workloads {
        for setting in workload.settings {
            let place = format!("{} of {}", setting.name, workload.name);
            if !known.contains(&place) {
                known.push(place);
            }
        }
    }
    let is_unknown = |(name, _): &&(String, String)| workloads.iter().all(|one| one.setting(name).is_none());
    match chosen.iter().find(is_unknown) {
        Some((name, _)) => Err(Error::UnknownSetting { name: name.clone(), known: known.join(", ") }),
        None => Ok(()),
    }
}

/// Refuses an address beyond this machine and private networks, because a load there affects other people.
pub(crate) fn refuse_public_server(server: &Server) -> Result<(), Error> {
    match ip(&server.address) {
        Some(ip) if sys::address::is_private(ip) => Ok(()),
        _ => Err(Error::PublicServer { address: server.address.clone() }),
    }
}

/// Refuses a server on loopback where its clients are on other machines: each would load itself.
pub(crate) fn refuse_unreachable(server: Option<&Server>, clients: &[NamedHost]) -> Result<(), Error> {
    let address = server.map_or(Some(Ipv4Addr::LOCALHOST.into()), |server| ip(&server.address));
    let elsewhere = clients.iter().filter(|client| client.is_behind_ssh());
    let elsewhere: Vec<&str> = elsewhere.map(|client| client.name.as_str()).collect();
    match address.filter(IpAddr::is_loopback) {
        Some(address) if !elsewhere.is_empty() => {
            Err(Error::UnreachableServer { clients: elsewhere.join(", "), address })
        }
        _ => Ok(()),
    }
}

fn ip(address: &str) -> Option<IpAddr> {
    let with_port = || address.parse::<SocketAddr>().ok().map(|address| address.ip());
    address.parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use workload::{Setting, Values};

    use super::*;

    const FILES: Workload = Workload {
        name: "files",
        settings: &[Setting {
            name: "per-folder",
            default: "100",
            values: Values::Number { least: 1, most: 1000 },
            summary: "",
        }],
        ..Workload::CURVE
    };
    const SQL: Workload = Workload {
        name: "sql",
        settings: &[Setting {
            name: "url",
            default: "private",
            values: Values::WordOrUrl("private"),
            summary: "",
        }],
        ..Workload::JOB
    };
    const BIND: Workload = Workload { name: "bind", ..Workload::CURVE };

    fn chosen(texts: &[&str]) -> Vec<(String, String)> {
        texts.iter().map(|text| parse_setting(text).expect("a setting")).collect()
    }

    #[test]
    fn equal_settings_are_equal_maps() {
        let settings = |texts: &[&str]| chosen_for(&FILES, &chosen(texts)).expect("settings");
        assert_eq!(settings(&["per-folder=010"]), settings(&["per-folder=5", "per-folder=10"]));
        assert!(settings(&["per-folder=100"]).is_empty() && settings(&[]).is_empty(), "the default");
        assert!(chosen_for(&BIND, &chosen(&["per-folder=7"])).expect("settings").is_empty());
    }

    #[test]
    fn several_values_are_systems() {
        let of = |texts: &[&str], workloads| of_systems(workloads, &chosen(texts));
        let combinations = |texts: &[&str]| {
            let of = of(texts, &[&FILES]).expect("settings");
            let values = |one: Vec<(String, String)>| one.into_iter().map(|(_, value)| value).collect();
            (of.common, of.combinations.into_iter().map(values).collect::<Vec<Vec<String>>>())
        };
        assert_eq!(combinations(&["per-folder=7"]), (chosen(&["per-folder=7"]), vec![Vec::new()]));
        let both = combinations(&["per-folder=7", "per-folder=10,0.1k"]);
        assert_eq!(both, (Vec::new(), vec![vec!["10".to_owned()], vec!["100".to_owned()]]));
        assert_eq!(combinations(&["per-folder=1,2", "per-folder=7"]).0, chosen(&["per-folder=7"]));
        for wrong in ["per-folder=1,", "per-folder=1,0"] {
            assert!(matches!(of(&[wrong], &[&FILES]), Err(Error::SettingValue { .. })), "{wrong}");
        }
        let error = of(&["per-folder=1,2"], &[&FILES, &BIND]).expect_err("twice the same").to_string();
        assert!(error.contains("bind") && error.contains("per-folder"), "{error}");
        let on = |value: &str| on_system(&FILES, &BTreeMap::new(), &chosen(&[value]));
        assert_eq!((on("per-folder=100").len(), on("per-folder=10").len()), (0, 1));
    }

    #[test]
    fn a_server_must_be_near_and_a_password_is_not_repeated() {
        let near =
            |text: &str| refuse_public_url(&SQL, &chosen_for(&SQL, &chosen(&[text])).expect("settings"));
        assert!(near("url=mysql://a@10.0.0.2/b").is_ok() && near("url=private").is_ok());
        let error = near("url=mysql://a@9.9.9.9/b").expect_err("of others").to_string();
        assert!(error.contains("9.9.9.9") && error.contains("--allow-public"), "{error}");
        let error = chosen_for(&SQL, &chosen(&["url=mysql://a:hush@10.0.0.2/b"]))
            .expect_err("a password")
            .to_string();
        assert!(!error.contains("hush") && error.contains("without a password"), "{error}");
    }

    #[test]
    fn what_cannot_be_set_is_refused_and_what_can_is_named() {
        assert!(parse_setting("per-folder").is_err() && parse_setting("=7").is_err());
        let error = chosen_for(&FILES, &chosen(&["per-folder=0"])).expect_err("too few").to_string();
        assert!(error.contains("\"0\"") && error.contains("1 to 1000"), "{error}");
        assert!(refuse_unknown(&chosen(&["per-folder=7"]), &[&BIND, &FILES]).is_ok());
        let error = refuse_unknown(&chosen(&["folder=7"]), &[&FILES]).expect_err("unknown").to_string();
        assert!(error.contains("folder") && error.contains("per-folder of files"), "{error}");
        let error = refuse_unknown(&chosen(&["folder=7"]), &[&BIND]).expect_err("unknown").to_string();
        assert!(error.contains("have no settings"), "{error}");
    }

    #[test]
    fn addresses_and_commands_are_told_apart() {
        let server = |text| parse_server(text).expect("a server");
        assert_eq!(server("10.0.0.2").prefix, [""; 0]);
        assert_eq!(server("[fd00::2]:8080").address, "[fd00::2]:8080");
        let behind = server("10.0.0.2:25=ip netns exec 'the other'");
        assert_eq!(
            (behind.address.as_str(), &behind.prefix[..]),
            ("10.0.0.2:25", &["ip", "netns", "exec", "the other"].map(str::to_owned)[..])
        );
        for wrong in ["", "localhost", "10.0.0", "10.0.0.2:", "=ssh", "10.0.0.2='ssh", "10.0.0.2='' ssh"] {
            assert!(parse_server(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn public_addresses_are_refused() {
        let is_refused = |text| refuse_public_server(&parse_server(text).expect("a server")).is_err();
        assert!(!is_refused("192.168.0.1:80") && !is_refused("fd12::1"));
        assert!(is_refused("[::ffff:9.9.9.9]:80") && is_refused("100.64.0.1"));
    }

    #[test]
    fn clients_elsewhere_need_an_address_that_they_can_reach() {
        let clients = |text| fleet::listed(&[text]).expect("hosts");
        let refused = |server: Option<&str>, text| {
            let server = server.map(|text| parse_server(text).expect("a server"));
            refuse_unreachable(server.as_ref(), &clients(text)).err().map(|error| error.to_string())
        };
        let why = refused(None, "here=,n[1-2]").expect("a refusal");
        assert!(why.contains("n1, n2") && why.contains("127.0.0.1") && why.contains("--server"), "{why}");
        assert!(refused(Some("127.0.0.2:80=env"), "n1=timeout 9 ssh n1").is_some());
        assert_eq!(refused(Some("10.0.0.2=env"), "n1"), None);
        assert_eq!(refused(None, "n[1-2]=env X={}"), None, "commands on this machine");
    }
}
