//! Parses `--set`: settings of workloads, and which workloads have them.

use std::collections::BTreeMap;

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
    settings.retain(|name, value| workload.setting(name).is_some_and(|setting| setting.default != value));
    Ok(settings)
}

/// Refuses a server beyond this machine and private networks: a load there affects other people.
///
/// # Errors
/// [`Error::PublicServer`].
pub(crate) fn refuse_public(workload: &Workload, chosen: &BTreeMap<String, String>) -> Result<(), Error> {
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
    fn a_server_must_be_near_and_a_password_is_not_repeated() {
        let near = |text: &str| refuse_public(&SQL, &chosen_for(&SQL, &chosen(&[text])).expect("settings"));
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
}
