//! Input of good and hostile servers: a response or an error, never a panic.

use proptest::prelude::*;

use super::*;

/// A packet of that kind with these fields, without its length.
fn packet(kind: u8, fields: &[&[u8]]) -> Vec<u8> {
    [&[kind], fields.concat().as_slice()].concat()
}

fn number(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

fn string(bytes: &[u8]) -> Vec<u8> {
    [&number(bytes.len() as u32), bytes].concat()
}

/// A connection whose server has answered with its version, and with extensions.
fn ready() -> SftpConnection {
    let mut connection = SftpConnection::new();
    assert_eq!(connection.begin(), [0, 0, 0, 5, 1, 0, 0, 0, 3]);
    let version = packet(2, &[&number(3), &string(b"limits@openssh.com"), &string(b"1")]);
    assert_eq!(connection.take(&version), Ok(SftpResponse::Ready));
    connection
}

#[test]
fn a_file_is_read_however_the_responses_are_ordered() {
    let mut connection = ready();
    let open = connection.open("/a");
    assert_eq!(open, [&[0, 0, 0, 19, 3], &number(0)[..], &string(b"/a"), &number(1), &number(0)].concat());
    let opened = connection.take(&packet(102, &[&number(0), &string(b"h")]));
    assert_eq!(opened, Ok(SftpResponse::Opened(b"h".to_vec())));
    assert_eq!(connection.size(b"h"), [&[0, 0, 0, 10, 8], &number(1)[..], &string(b"h")].concat());
    let size = packet(105, &[&number(1), &number(1), &7_u64.to_be_bytes()]);
    assert_eq!(connection.take(&size), Ok(SftpResponse::Bytes(7)));
    let (first, request) = connection.read(b"h", 0, u32::MAX);
    assert_eq!(request[14..], [&0_u64.to_be_bytes()[..], &number(READ_BYTES_MAX)].concat());
    let (second, _) = connection.read(b"h", 4, 4);
    let piece = connection.take(&packet(103, &[&number(second), &string(b"end")]));
    assert_eq!(piece, Ok(SftpResponse::Piece(second, 9..12)), "less than was asked for");
    assert_eq!(connection.take(&packet(101, &[&number(first), &number(1)])), Ok(SftpResponse::End(first)));
    connection.close(b"h");
    let closed = packet(101, &[&number(4), &number(0), &string(b""), &string(b"")]);
    assert_eq!(connection.take(&closed), Ok(SftpResponse::Closed));
    assert!(connection.take(&closed).is_err(), "it was answered");
}

#[test]
fn a_refusal_has_the_words_of_the_server() {
    let mut connection = ready();
    connection.open("/none");
    let refused = packet(101, &[&number(0), &number(2), &string(b"No \x1b[31msuch file"), &string(b"")]);
    let refused = connection.take(&refused).expect_err("refused").to_string();
    assert_eq!(refused, "the server refused SSH_FXP_OPEN: SSH_FX_NO_SUCH_FILE (2), No [31msuch file");
    connection.open("/none");
    let wordless = connection.take(&packet(101, &[&number(1), &number(99)])).expect_err("refused");
    assert_eq!(wordless.to_string(), "the server refused SSH_FXP_OPEN: status (99)");
}

#[test]
fn what_nobody_asked_for_is_refused() {
    let version = packet(2, &[&number(3)]);
    assert!(SftpConnection::new().take(&version).is_err(), "before the first request");
    let mut connection = SftpConnection::new();
    connection.begin();
    assert_eq!(connection.take(&packet(2, &[&number(6)])), Err(SftpError::Version(6)));
    assert!(ready().take(&version).is_err(), "twice");
    assert!(ready().take(&packet(102, &[&number(0), &string(b"h")])).is_err(), "unasked");
    for (wrong, why) in [
        (packet(103, &[&number(0), &string(b"abc")]), "more than"),
        (packet(102, &[&number(0), &string(b"h")]), "not of the kind"),
        (packet(103, &[&number(0), &number(u32::MAX)]), "too short"),
        (packet(101, &[&number(0)]), "too short"),
    ] {
        let mut connection = ready();
        connection.read(b"h", 0, 2);
        let error = connection.take(&wrong).expect_err(why).to_string();
        assert!(error.contains(why), "{error}");
    }
    let mut connection = ready();
    connection.open("/a");
    let long = packet(102, &[&number(0), &string(&[0; 257])]);
    assert!(connection.take(&long).is_err());
    let mut connection = ready();
    connection.size(b"h");
    assert!(connection.take(&packet(105, &[&number(0), &number(4), &number(0)])).is_err(), "no size");
    assert!(packet_bytes(number(0)).is_err() && packet_bytes(number(1 << 30)).is_err());
    assert_eq!(packet_bytes(number(34_000)), Ok(34_000));
}

proptest! {
    #[test]
    fn no_server_makes_a_connection_panic(
        packets in prop::collection::vec((0_u8..6, prop::collection::vec(any::<u8>(), 0..60)), 0..8),
    ) {
        let mut connection = ready();
        for (number, (choice, rest)) in packets.iter().enumerate() {
            match number % 4 {
                0 => drop(connection.open("/a")),
                1 => drop(connection.size(b"h")),
                2 => drop(connection.read(b"h", 0, 8)),
                _ => drop(connection.close(b"h")),
            }
            let kind = [2, 101, 102, 103, 105].get(usize::from(*choice)).copied();
            let packet = match kind {
                Some(kind) => packet(kind, &[&(number as u32).to_be_bytes(), rest]),
                None => rest.clone(),
            };
            if let Ok(SftpResponse::Piece(_, place)) = connection.take(&packet) {
                prop_assert!(packet.get(place).is_some());
            }
        }
    }
}
