//! One end of SMTP reads the bytes of the other, cut anywhere.

use net::smtp::{
    ArgumentText, Command, DotDecoder, EnhancedCode, Mailbox, ReplyParser, dot_stuffed, write_reply,
};
use proptest::prelude::*;

/// Calls the reader with the bytes in pieces, cut at these places, taken modulo what is left.
fn cut(mut bytes: &[u8], cuts: &[usize], mut reader: impl FnMut(&[u8])) {
    for cut in cuts {
        let (piece, rest) = bytes.split_at(cut % (bytes.len() + 1));
        reader(piece);
        bytes = rest;
    }
    reader(bytes);
}

fn domain_is_literal(mailbox: &Mailbox<'_>) -> bool {
    mailbox.domain().starts_with('[')
}

fn address() -> impl Strategy<Value = String> {
    let atom = "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~ж-]{1,6}";
    let local = prop_oneof![
        proptest::collection::vec(atom, 1..4).prop_map(|atoms| atoms.join(".")),
        "\"([ a-z@>.ж!]|\\\\[ -~]){0,20}\"",
    ];
    let label = "[a-z0-9ж]([a-z0-9ж-]{0,10}[a-z0-9ж])?";
    let domain = prop_oneof![
        proptest::collection::vec(label, 1..5).prop_map(|labels| labels.join(".")),
        any::<std::net::Ipv4Addr>().prop_map(|address| format!("[{address}]")),
        any::<std::net::Ipv6Addr>().prop_map(|address| format!("[IPv6:{address}]")),
    ];
    (local, domain).prop_map(|(local, domain)| format!("{local}@{domain}"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn addresses_arrive(text in address(), size in any::<Option<u64>>(), is_8bit: bool) {
        let mailbox = Mailbox::parse(&text).unwrap();
        prop_assert_eq!(format!("{}@{}", mailbox.local(), mailbox.domain()), &text[..]);
        prop_assert_eq!(mailbox.host_address().is_some(), domain_is_literal(&mailbox));
        let is_utf8 = !text.is_ascii();
        let mail = Command::Mail { sender: Some(mailbox), size, is_8bit, is_utf8 };
        for command in [Command::Rcpt(mailbox), mail] {
            let mut line = Vec::new();
            command.write(&mut line);
            prop_assert_eq!(Command::parse(line.strip_suffix(b"\r\n").unwrap()), Ok(command));
        }
    }

    #[test]
    fn no_text_carries_a_second_command(text in "[a-z@<>\"\\\\\r\n\0\t .:\u{80}-\u{a0}]{0,40}") {
        let mut written = Vec::new();
        if let Ok(mailbox) = Mailbox::parse(&text) {
            Command::Rcpt(mailbox).write(&mut written);
        }
        if let Some(name) = ArgumentText::new(&text) {
            Command::Ehlo(name).write(&mut written);
        }
        for line in written.split_inclusive(|&byte| byte == b'\n') {
            let line = line.strip_suffix(b"\r\n").unwrap();
            prop_assert!(!line.iter().any(u8::is_ascii_control));
        }
    }

    #[test]
    fn replies_arrive(
        replies in proptest::collection::vec((200_u16..600, any::<bool>(), "[ -~ж]{0,9}(\n[ -~ж]{0,9}){0,3}"), 0..9),
        cuts in proptest::collection::vec(0_usize..50, 0..9),
    ) {
        let (mut stream, mut expected) = (Vec::new(), Vec::new());
        for (code, is_enhanced, text) in replies {
            // A text that begins like an enhanced code would be one.
            let text = format!("t{text}");
            let class = (code / 100) as u8;
            let enhanced = (is_enhanced && class != 3).then_some(EnhancedCode(class, 1, 999));
            write_reply(&mut stream, code, enhanced, &text);
            expected.push((code, enhanced, text.replace('\n', " ")));
        }
        let (mut parser, mut got) = (ReplyParser::default(), Vec::new());
        cut(&stream, &cuts, |mut piece| {
            while let Some(reply) = parser.parse(&mut piece).unwrap() {
                got.push((reply.code(), reply.enhanced(), reply.text()));
            }
        });
        prop_assert_eq!(got, expected);
        prop_assert!(!parser.is_within_reply());
    }

    #[test]
    fn messages_arrive(
        lines in proptest::collection::vec("[.a]{0,5}", 0..20),
        behind in "[.\r\n]{0,9}",
        cuts in proptest::collection::vec(0_usize..20, 0..20),
    ) {
        let message: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
        let mut stream = Vec::new();
        dot_stuffed(message.as_bytes(), &mut stream);
        stream.extend_from_slice(behind.as_bytes());
        let (mut decoder, mut got, mut left) = (DotDecoder::default(), Vec::new(), Vec::new());
        cut(&stream, &cuts, |mut piece| {
            decoder.decode(&mut piece, &mut |content| got.extend_from_slice(content));
            left.extend_from_slice(piece);
        });
        prop_assert_eq!(String::from_utf8_lossy(&got), message);
        prop_assert_eq!(String::from_utf8_lossy(&left), behind);
    }
}
