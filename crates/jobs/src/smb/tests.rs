//! A hostile server: all of its input is an error or a response, never a panic.

use proptest::prelude::*;

use super::message::{Negotiated, SetUp, piece_read, share_wants_encryption};
use super::ntlm::Challenge;
use super::*;

const HEADER_BYTES: usize = 64;

fn account() -> Account {
    Account { user: "nobody".to_owned(), nt_hash: [7; 16] }
}

/// A response to a command, whose number and id are those of the request, with that status and body.
fn response(command: u16, id: u64, status: u32, body: &[u8]) -> Vec<u8> {
    let mut message = vec![0; HEADER_BYTES];
    message[..4].copy_from_slice(b"\xfeSMB");
    message[4] = 64;
    message[8..12].copy_from_slice(&status.to_le_bytes());
    message[12..14].copy_from_slice(&command.to_le_bytes());
    message[14] = 31;
    message[16] = 1;
    message[24..32].copy_from_slice(&id.to_le_bytes());
    message.extend(body);
    message
}

/// The response of a server that agrees to everything.
fn agreement() -> Vec<u8> {
    let mut body = vec![0; 64];
    body[0] = 65;
    body[4..6].copy_from_slice(&0x0311_u16.to_le_bytes());
    body[6] = 3;
    body[32..36].copy_from_slice(&(1_u32 << 20).to_le_bytes());
    body[60..64].copy_from_slice(&128_u32.to_le_bytes());
    for (kind, data) in [(1_u16, &[1, 0, 0, 0, 1, 0][..]), (8, &[1, 0, 2, 0]), (2, &[1, 0, 2, 0])] {
        body.resize(body.len().next_multiple_of(8), 0);
        body.extend(kind.to_le_bytes());
        body.extend((data.len() as u16).to_le_bytes());
        body.extend([0; 4]);
        body.extend(data);
    }
    response(0, 0, 0, &body)
}

/// A connection whose server has agreed, and that has begun to log on.
fn logging_on(protection: Protection) -> SmbConnection {
    let mut connection = SmbConnection::new(account(), protection, 1);
    connection.negotiate().expect("the first request");
    assert_eq!(connection.take(&mut agreement()), Ok(SmbResponse::Done));
    connection.log_on().expect("a credit");
    connection
}

#[test]
fn an_agreement_must_have_all_algorithms() {
    assert_eq!(
        Negotiated::parse(&agreement()),
        Ok(Negotiated { requires_signing: false, read_bytes_max: 1 << 20 })
    );
    for (at, what) in [(128 + 12, "hashes"), (144 + 10, "signatures"), (160 + 10, "ciphers")] {
        let mut other = agreement();
        other[at] = 9;
        let wants = Negotiated::parse(&other).expect_err("it wants others").to_string();
        assert!(wants.contains(what), "{wants}");
    }
    for length in 0..agreement().len() {
        assert!(Negotiated::parse(&agreement()[..length]).is_err(), "{length}");
    }
}

#[test]
fn nobody_is_let_in_without_a_proof_or_without_a_signature() {
    let set_up = [&9_u16.to_le_bytes()[..], &[0, 0, 72, 0, 0, 0]].concat();
    let mut connection = logging_on(Protection::None);
    let unasked = connection.take(&mut response(1, 1, 0, &set_up));
    assert_eq!(unasked, Err(SmbError::Malformed("it asked for no proof")));

    let challenge = [b"NTLMSSP\0\x02\0\0\0".as_slice(), &[0; 36]].concat();
    let mut asks = set_up.clone();
    asks[6] = challenge.len() as u8;
    asks.extend(challenge);
    for protection in [Protection::None, Protection::Signatures, Protection::Encryption] {
        let mut connection = logging_on(protection);
        let asked = connection.take(&mut response(1, 1, 0xC000_0016, &asks));
        assert!(matches!(asked, Ok(SmbResponse::Challenge(_))), "{asked:?}");
        assert_eq!(connection.take(&mut response(1, 2, 0, &set_up)), Err(SmbError::Forged));
    }
    let mut connection = logging_on(Protection::None);
    let refused = connection.take(&mut response(1, 1, 0xC000_006D, &[9, 0, 0, 0, 0, 0, 0, 0]));
    assert!(refused.expect_err("refused").to_string().contains("SESSION_SETUP: STATUS_LOGON_FAILURE"));
}

#[test]
fn what_nobody_asked_for_is_refused() {
    let mut connection = SmbConnection::new(account(), Protection::None, 1);
    connection.negotiate().expect("the first request");
    assert!(connection.negotiate().is_err(), "the server has allowed one");
    assert!(connection.take(&mut response(0, 7, 0, &[])).is_err(), "another number");
    assert!(connection.take(&mut response(1, 0, 0, &[])).is_err(), "another command");
    assert_eq!(connection.take(&mut response(0, 0, 0x103, &[])), Ok(SmbResponse::Interim));
    assert_eq!(connection.take(&mut agreement()), Ok(SmbResponse::Done));
    assert!(connection.take(&mut agreement()).is_err(), "it was answered");
    assert!(packet_bytes([0, 0, 1, 0]).is_ok() && packet_bytes([0x81, 0, 0, 0]).is_err());
}

proptest! {
    #[test]
    fn no_response_makes_a_parser_panic(body in prop::collection::vec(any::<u8>(), 0..300), size: u8) {
        let mut message = response(0, 0, 0, &body);
        for size in [u16::from(size), 9, 16, 17, 65, 89] {
            if let Some(place) = message.get_mut(HEADER_BYTES..HEADER_BYTES + 2) {
                place.copy_from_slice(&size.to_le_bytes());
            }
            let _ = Negotiated::parse(&message);
            let _ = SetUp::parse(&message).map(|set_up| Challenge::parse(set_up.token).is_ok());
            let _ = OpenFile::parse(&message);
            let _ = share_wants_encryption(&message);
            if let Ok(piece) = piece_read(&message) {
                prop_assert!(message.get(piece).is_some());
            }
        }
        let _ = Challenge::parse(&[b"NTLMSSP\0\x02\0\0\0", &body[..]].concat());
    }

    #[test]
    fn no_server_makes_a_connection_panic(
        packets in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..120)), 0..6),
        changed in 0_usize..170,
        value: u8,
    ) {
        for protection in [Protection::None, Protection::Signatures, Protection::Encryption] {
            let mut connection = SmbConnection::new(account(), protection, 1);
            connection.negotiate().expect("the first request");
            let mut first = agreement();
            if let Some(byte) = first.get_mut(changed) {
                *byte = value;
            }
            let _ = connection.take(&mut first);
            let _ = connection.log_on();
            for (number, (is_sound, content)) in packets.iter().enumerate() {
                let mut packet = match is_sound {
                    true => response(1, 1 + number as u64, 0xC000_0016, content),
                    false => content.clone(),
                };
                let _ = connection.take(&mut packet);
            }
        }
    }
}
