//! Header fields whose values give access, which a result should not hold.

use net::load::LoadSettings;
use serde_json::Value;

/// Fields of RFC 9110 and RFC 6265, and parts of names that others use, as in `X-Api-Key`.
const SECRET: [&str; 6] = ["authorization", "cookie", "key", "token", "secret", "password"];

/// The names of the fields on the command line whose values give access.
pub(super) fn names(settings: &LoadSettings) -> Vec<String> {
    let client = serde_json::to_value(&settings.client).unwrap_or_default();
    let fields = client.pointer("/settings/fields").and_then(Value::as_array).cloned().unwrap_or_default();
    let name = |field: &Value| field.as_str()?.split_once(':').map(|(name, _)| name.to_owned());
    fields.iter().filter_map(name).filter(|name| is_secret(name)).collect()
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    !name.starts_with('@') && SECRET.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_give_access_are_known() {
        for name in ["Authorization", "proxy-authorization", "Cookie", "X-Api-Key", "X-Auth-Token"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["Host", "Accept", "@token", "User-Agent"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
