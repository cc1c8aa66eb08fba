//! Any bytes from a server of SMB are a response or an error, without a panic.
//!
//! The first byte chooses the protection; the others are packets, each behind its length in one byte. A
//! packet that begins with 0xfe is completed to a response to the next request.
#![no_main]

use libfuzzer_sys::fuzz_target;
use jobs::smb::message::{Negotiated, SetUp, piece_read, share_wants_encryption};
use jobs::smb::ntlm::Challenge;
use jobs::smb::{Account, SmbConnection, OpenFile, Protection, SmbResponse};

fuzz_target!(|data: &[u8]| {
    let [choice, rest @ ..] = data else { return };
    let protection = match choice % 3 {
        0 => Protection::None,
        1 => Protection::Signatures,
        _ => Protection::Encryption,
    };
    let account = Account { user: "nobody".to_owned(), nt_hash: [7; 16] };
    let mut connection = SmbConnection::new(account, protection, 1);
    let (mut left, mut number) = (rest, 0);
    let _ = connection.negotiate();
    while let [length, content @ ..] = left {
        let length = usize::from(*length).min(content.len());
        let (content, others) = content.split_at(length);
        left = others;
        let mut packet = completed(content, number);
        parse(&packet);
        if let Ok(SmbResponse::Piece(_, place)) = connection.take(&mut packet) {
            assert!(packet.get(place).is_some());
        }
        number += 1;
        let _ = if number == 1 { connection.log_on() } else { connection.connect_share("\\\\a\\b") };
    }
});

fn parse(message: &[u8]) {
    let _ = Negotiated::parse(message);
    let _ = SetUp::parse(message).map(|set_up| Challenge::parse(set_up.token).is_ok());
    let _ = OpenFile::parse(message);
    let _ = share_wants_encryption(message);
    if let Ok(place) = piece_read(message) {
        assert!(message.get(place).is_some());
    }
}

/// What begins as a response is made one to the request of that number.
fn completed(content: &[u8], number: u64) -> Vec<u8> {
    let [0xfe, status, body @ ..] = content else { return content.to_vec() };
    let mut message = vec![0; 64];
    message[..4].copy_from_slice(b"\xfeSMB");
    message[4] = 64;
    let status: u32 = if status & 1 == 0 { 0 } else { 0xC000_0016 };
    message[8..12].copy_from_slice(&status.to_le_bytes());
    message[12] = number.min(1) as u8;
    message[14] = 9;
    message[16] = 1;
    message[24..32].copy_from_slice(&number.to_le_bytes());
    message.extend(body);
    message
}
