//! The question of 1996, with its figures, and the same question about a run.

use inspect::impact::{Cost, Demand, Impact, ImpactQuestion, NetworkPath};

fn question(path: &str, bytes: f64) -> ImpactQuestion {
    let path = NetworkPath::parse(path).expect("a path");
    ImpactQuestion { path, bytes, demand: Demand::default() }
}

fn costs(texts: &[&str]) -> Vec<Cost> {
    texts.iter().map(|text| Cost::parse(text).expect("a cost")).collect()
}

/// J. Elson, *Exactly how fast is Linux compared to Windows NT?*, AUUG 1996: a file of 50 MB came from the
/// server over the LAN in 95.47 s (Samba) and 112.75 s (NT). His users are behind modems of 28.8 kbit/s, where
/// the same file takes four hours.
#[test]
fn the_table_of_1996_and_its_conclusion() {
    const SIZE: f64 = 50e6;
    let systems = costs(&["Linux=95.47s/50MB", "NT=112.75s/50MB"]);
    let modem =
        Impact::of(&systems, false, &question("router 2ms, lan 1ms 10mbit, modem 150ms 28.8kbit", SIZE));
    for one in &modem.costs {
        let transfer = one.transfer.expect("a transfer");
        let without = transfer.total_seconds - one.cost.of(SIZE).value;
        assert!((without - (SIZE * 8.0 / 28_800.0 + 0.153)).abs() < 1e-6, "3 h 51 min for the line alone");
        assert!(transfer.gain.value < 0.005, "half a percent at most: {transfer:?}");
        assert!(transfer.gain.value > 0.003, "and not nothing: {transfer:?}");
    }
    // The difference that he measured is a tenth of a percent behind a modem, and 15 % on the LAN.
    let difference = (112.75 - 95.47) / (SIZE * 8.0 / 28_800.0);
    assert!((0.001..0.0015).contains(&difference));

    // On the LAN only the wire stands beside the system, which takes most of a user's waiting time.
    let wire = SIZE * 8.0 / 10e6;
    let beyond_wire = [format!("Linux={}s/50MB", 95.47 - wire), format!("NT={}s/50MB", 112.75 - wire)];
    let beyond_wire = costs(&beyond_wire.each_ref().map(String::as_str));
    let lan = Impact::of(&beyond_wire, false, &question("lan 1ms 10mbit", SIZE));
    for one in &lan.costs {
        let transfer = one.transfer.expect("a transfer");
        assert!((0.25..0.35).contains(&transfer.gain.value), "{transfer:?}");
    }
}

/// A response to a user behind a modem waits for router, LAN, modem and provider; the part of the system is
/// lost among them. Parts and times are those of 1996: 100 ms and more for a modem there and back (S.
/// Cheshire, *It's the Latency, Stupid*, 1996).
#[test]
fn the_latency_of_1996() {
    let budget = "router 2ms, lan 1ms 10mbit, modem 150ms 28.8kbit, provider 30ms";
    let question = question(budget, 50e6);
    assert!((question.path.delay_seconds() - 0.183).abs() < 1e-12);
    let (slowest, _) = question.path.bottleneck().expect("a rate");
    assert_eq!(slowest.name, "modem");
    let impact = Impact::of(&costs(&["request=1ms"]), false, &question);
    let response = impact.main().and_then(|main| main.response).expect("a response");
    assert!(response.gain.value < 0.005, "{response:?}");
}

#[test]
fn costs_of_one_response_add_up() {
    let parts = costs(&["accept=10us+-1us", "read=20x5us", "copy=1ms/MB"]);
    let question = question("lan 1ms 1gbit", 1e6);
    let impact = Impact::of(&parts, true, &question);
    let together = impact.together.as_ref().expect("all together");
    let response = together.response.expect("a response");
    assert!((response.system_seconds.value - 110e-6).abs() < 1e-12, "a transfer is no part of a response");
    assert!((response.share.value - 110.0 / 1110.0).abs() < 1e-9);
    assert!(response.share.low < response.share.value && response.share.value < response.share.high);
    let transfer = together.transfer.expect("a transfer");
    assert!((transfer.system_seconds.value - 1.11e-3).abs() < 1e-9);
    assert_eq!(impact.costs[0].cost.name, "copy", "the largest first");
    assert!(impact.costs[0].response.is_none());
    let alone = Impact::of(&parts, false, &question);
    assert!(alone.together.is_none() && alone.main().is_some_and(|main| main.cost.name == "copy"));
}

#[test]
fn nothing_known_is_nothing_said() {
    let question = question("lan 1ms", 1e6);
    let impact = Impact::of(&[], true, &question);
    assert!(impact.main().is_none() && impact.exchanges.is_empty());
    let impact = Impact::of(&costs(&["accept=1us"]), true, &question);
    assert!(impact.costs[0].transfer.is_none(), "without a rate there is no transfer");
}
