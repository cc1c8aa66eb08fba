//! Any bytes from a server of SFTP are a response or an error, without a panic.
//!
//! The data are packets, each behind its length in one byte. Before each, the client sends another request; a
//! packet that begins with 0xff is completed to a response to that one, of the kind that follows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use jobs::sftp::{SftpConnection, SftpResponse, packet_bytes};

fuzz_target!(|data: &[u8]| {
    let mut connection = SftpConnection::new();
    connection.begin();
    let _ = connection.take(&[2, 0, 0, 0, 3]);
    let (mut left, mut number) = (data, 0_u32);
    while let [length, content @ ..] = left {
        let length = usize::from(*length).min(content.len());
        let (content, others) = content.split_at(length);
        left = others;
        match number % 4 {
            0 => drop(connection.open("/a")),
            1 => drop(connection.size(b"handle")),
            2 => drop(connection.read(b"handle", 0, 100)),
            _ => drop(connection.close(b"handle")),
        }
        let packet = match content {
            [0xff, kind, fields @ ..] => [&[*kind], &number.to_be_bytes()[..], fields].concat(),
            content => content.to_vec(),
        };
        if let Ok(SftpResponse::Piece(_, place)) = connection.take(&packet) {
            assert!(packet.get(place).is_some());
        }
        if let Some(length) = packet.first_chunk::<4>() {
            let _ = packet_bytes(*length);
        }
        number += 1;
    }
});
