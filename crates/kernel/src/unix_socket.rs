//! Cost of one more named socket of the Unix domain, and of one more descriptor in flight.
//!
//! **Question.** What does it cost to bind a name, and to reach a socket by its name, when n names are bound?
//! What do sendmsg(2) and recvmsg(2) cost when n descriptors are on their way?
//!
//! **Method.** Datagram sockets are opened, untimed, and bound: to names that are no paths, or to paths in
//! folders of the trial with 1 000 each. After each, a further socket connects to one of them, chosen at
//! random, and sends it a byte by sendto(2), each timed; the byte is then received there, untimed. At the end
//! all are closed in random order. With `rights` a socket is sent as a descriptor with a byte (`SCM_RIGHTS`)
//! over pairs of stream sockets with 100 messages each. None is received until all were sent; then each is
//! received in random order of the pairs, timed, and closed, untimed.
//!
//! **Expected answer.** Linear with a small slope for names: Linux has 256 lists of them (`UNIX_HASH_SIZE`,
//! net/unix/af_unix.c); a path is found by its file and then in such a list. bind(2) to a path creates a
//! file, too, which is the work of the file system, as in `pipe`. Flat for descriptors, with a step where a
//! sender waits for the collector of cycles: at 16 000 in flight (net/unix/garbage.c).

use workload::resource::{DESCRIPTORS, IN_FLIGHT, INODES, MEMORY};
use workload::{Expect, Need, Operation, Variant, Workload, on_unix};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "unix-socket",
    source: workload::page!("unix_socket.rs"),
    grows: "bound names or descriptors in flight",
    variants: &[
        Variant { name: "abstract", summary: "names that are no paths, as unix(7) has them on Linux" },
        Variant { name: "path", summary: "paths of files" },
        Variant { name: "rights", summary: "descriptors in messages that nobody has received yet" },
    ],
    remedies: &[
        ("abstract", "use sockets without a name, of socketpair(2)"),
        ("path", "use one listener for many peers"),
    ],
    operations: &[
        Operation::up("bind", Expect::Linear, "one bind(2) to a name").only(NAMED),
        Operation::up("connect", Expect::Linear, "one connect(2) of a datagram socket to a name").only(NAMED),
        Operation::up("sendto", Expect::Linear, "one sendto(2) of a byte to a name").only(NAMED),
        Operation::down("close", Expect::Constant, "one close(2) of a bound socket, in random order")
            .only(NAMED),
        Operation::up("send", Expect::Constant, "one sendmsg(2) of a byte and a descriptor").only(RIGHTS),
        Operation::down("receive", Expect::Constant, "one recvmsg(2) of them").only(RIGHTS),
    ],
    needs: &[
        Need::new(DESCRIPTORS, 1).only_in(&["abstract", "path"]),
        Need::new(INODES, 1).only_in(&["path"]),
        Need::new(IN_FLIGHT, 1).only_in(&["rights"]),
        Need::new(MEMORY, 4 << 10),
    ],
    run: on_unix!(measured::run, "sockets of the Unix domain carry no descriptors here"),
    ..Workload::CURVE
};

const NAMED: &[&str] = &["abstract", "path"];
const RIGHTS: &[&str] = &["rights"];

#[cfg(unix)]
mod measured {
    use std::io;
    use std::path::Path;

    use sys::datagram::{DatagramAddress, DatagramSocket, DescriptorPair};
    use workload::{Trial, TrialError};

    const PER_FOLDER: usize = 1000;
    /// The buffer of a socket holds more.
    const PER_PAIR: usize = 100;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        if trial.variant() == "rights" { rights(trial) } else { named(trial) }
    }

    fn named(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let folder = trial.own_folder()?;
        let is_path = trial.variant() == "path";
        let names = (0..=trial.n()).map(|number| name(folder.path(), is_path, number));
        let names = TrialError::collect("to name the sockets", names)?;
        let client = DatagramSocket::open(&names[0]).map_err(TrialError::at("to open a socket"))?;
        let mut choice = fastrand::Rng::with_seed(trial.seed());
        let (mut sockets, mut wrong) = (Vec::with_capacity(trial.n()), 0);
        let kept = trial.compact_steps(&["bind", "connect", "sendto"], |n, lap| {
            let socket = DatagramSocket::open(&names[n])?;
            lap.skip();
            socket.bind(&names[n])?;
            lap.mark();
            sockets.push(socket);
            let (chosen, byte) = (choice.usize(..=n), choice.u8(..));
            lap.skip();
            client.connect(&names[chosen])?;
            lap.mark();
            client.send_to(&[byte], &names[chosen])?;
            lap.mark();
            let mut arrived = [0; 2];
            let length = sockets[chosen].receive(&mut arrived)?;
            wrong += usize::from(arrived[..length] != [byte]);
            lap.skip();
            Ok(())
        })?;
        trial.check("every byte arrived at the chosen name", wrong == 0);
        let nobody = client.send_to(&[0], &names[names.len() - 1]);
        trial.check("a name that is not bound is refused", nobody.is_err());
        sockets.truncate(kept.len());
        let sockets = trial.shuffled(sockets);
        trial.compact_down("close", sockets, DatagramSocket::close)
    }

    /// A name, with the folder of its path.
    fn name(folder: &Path, is_path: bool, number: usize) -> io::Result<DatagramAddress> {
        let below = folder.join((number / PER_FOLDER).to_string());
        let path = below.join(number.to_string());
        if !is_path {
            return DatagramAddress::abstract_name(&format!("osdyno-{}-{number}", std::process::id()));
        }
        if number.is_multiple_of(PER_FOLDER) {
            std::fs::create_dir(&below)?;
        }
        DatagramAddress::path(&path)
    }

    fn rights(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let sent = DescriptorPair::new().map_err(TrialError::at("to make a pair of sockets"))?;
        let mut pairs: Vec<DescriptorPair> = Vec::with_capacity(trial.n() / PER_PAIR + 1);
        trial.warm(|| {
            let pair = DescriptorPair::new()?;
            pair.send(&sent, 0)?;
            pair.receive().map(drop)
        });
        let carriers = trial.compact_steps(&["send"], |n, lap| {
            if n.is_multiple_of(PER_PAIR) {
                pairs.push(DescriptorPair::new()?);
            }
            let carrier = pairs.len() - 1;
            lap.skip();
            pairs[carrier].send(&sent, carrier as u8)?;
            lap.mark();
            Ok(carrier)
        })?;
        let (carriers, mut wrong) = (trial.shuffled(carriers), 0);
        trial.compact_steps_back(&["receive"], carriers, |carrier, lap| {
            let (received, byte) = pairs[carrier].receive()?;
            lap.mark();
            wrong += usize::from(byte != carrier as u8 || !sent.is_sender(&received)?);
            drop(received);
            lap.skip();
            Ok(())
        })?;
        trial.check("every message had its byte and the descriptor that was sent", wrong == 0);
        Ok(())
    }
}
