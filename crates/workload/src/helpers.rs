//! Helper processes: copies of a trial that make and remove objects too, so that n goes beyond the limits of
//! one process.
//!
//! A helper is forked when the first way up begins, and executes the same experiment from there on. Where the
//! trial times an operation, a helper waits until its share is requested. With two helpers the trial makes,
//! and times, every third object, and the helpers make the others: so the trial's own share of the objects is
//! the same at every n, and nothing changes where one process would be full. Helpers sleep while the trial
//! times.

use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};

use record::Check;

/// More would take too many descriptors of the trial.
pub(crate) const HELPERS_MAX: u32 = 63;

/// Descriptors that a helper takes of the trial.
pub(crate) const DESCRIPTORS_OF_HELPER: u64 = 2;

/// A request: the first n and how many.
const REQUEST_BYTES: usize = 16;
/// An answer: whether it went well, which operation failed, and the number of the error.
const ANSWER_BYTES: usize = 8;

/// The role of a process after helpers were forked.
pub(crate) enum Role {
    /// The trial, as before.
    Trial(Helpers),
    /// A helper of it.
    Helper(Link),
}

/// The helpers of a trial; none of most.
#[derive(Debug, Default)]
pub(crate) struct Helpers(Vec<Link>);

/// The pipe between a trial and a helper; each has one end.
#[derive(Debug)]
pub(crate) struct Link {
    input: PipeReader,
    output: PipeWriter,
}

/// The next request to a helper.
pub(crate) enum Request {
    /// Its share: the first n, and how many.
    Share { first: usize, count: usize },
    /// The pass is over, and n is this.
    Over { n: usize },
}

/// A share that a helper could not make or remove.
pub(crate) struct Refused {
    /// Place of the operation that failed.
    pub(crate) column: usize,
    pub(crate) error: io::Error,
}

impl Helpers {
    /// Forks so many helpers, and returns in each of them too.
    pub(crate) fn fork(count: u32) -> io::Result<Role> {
        let mut links = Vec::new();
        for _ in 0..count {
            let (own, theirs) = Link::pair()?;
            if sys::process::fork_in_two()?.is_none() {
                // The ends of the others are the trial's alone: a helper ends when the trial has ended.
                return Ok(Role::Helper(theirs));
            }
            links.push(own);
        }
        Ok(Role::Trial(Helpers(links)))
    }

    /// Waits until all have come to the pass that begins here.
    pub(crate) fn begin_pass(&mut self) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|link| link.answer()?.map_err(|refused| refused.error))
    }

    /// Makes one of them do the share that belongs to the trial's own object of that place: as many objects
    /// as there are helpers.
    #[inline(never)]
    pub(crate) fn share(&mut self, row: usize) -> io::Result<Result<(), Refused>> {
        let count = self.0.len();
        if count == 0 {
            return Ok(Ok(()));
        }
        let link = &mut self.0[row % count];
        link.send(row * (count + 1) + 1, count)?;
        link.answer()
    }

    /// Ends a pass at `n`.
    pub(crate) fn end_pass(&mut self, n: usize) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|link| link.send(n, 0))
    }

    /// The checks of all of them, once they have ended.
    pub(crate) fn conclusions(self) -> io::Result<Vec<Check>> {
        let each: io::Result<Vec<Vec<Check>>> = self.0.into_iter().map(Link::conclusion).collect();
        Ok(each?.into_iter().flatten().collect())
    }
}

impl Link {
    fn pair() -> io::Result<(Link, Link)> {
        let (own_input, their_output) = io::pipe()?;
        let (their_input, own_output) = io::pipe()?;
        Ok((Link { input: own_input, output: own_output }, Link { input: their_input, output: their_output }))
    }

    fn send(&mut self, first: usize, count: usize) -> io::Result<()> {
        let mut request = [0; REQUEST_BYTES];
        request[..8].copy_from_slice(&(first as u64).to_ne_bytes());
        request[8..].copy_from_slice(&(count as u64).to_ne_bytes());
        self.output.write_all(&request)
    }

    fn answer(&mut self) -> io::Result<Result<(), Refused>> {
        let mut answer = [0; ANSWER_BYTES];
        self.input.read_exact(&mut answer).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => io::Error::other("a helper process has ended"),
            _ => error,
        })?;
        let [well, column, _, _, number @ ..] = answer;
        Ok(match well {
            1 => Ok(()),
            _ => {
                let error = match i32::from_ne_bytes(number) {
                    0 => io::Error::other("a helper process failed"),
                    number => io::Error::from_raw_os_error(number),
                };
                Err(Refused { column: usize::from(column), error })
            }
        })
    }

    /// In a helper: reports that it has reached a pass, or has done its share.
    pub(crate) fn report(&mut self, done: Result<(), Refused>) -> io::Result<()> {
        let mut answer = [0; ANSWER_BYTES];
        match done {
            Ok(()) => answer[0] = 1,
            Err(Refused { column, error }) => {
                answer[1] = u8::try_from(column).unwrap_or(u8::MAX);
                answer[4..].copy_from_slice(&error.raw_os_error().unwrap_or(0).to_ne_bytes());
            }
        }
        self.output.write_all(&answer)
    }

    /// In a helper: waits for the next request.
    pub(crate) fn request(&mut self) -> io::Result<Request> {
        let mut request = [0; REQUEST_BYTES];
        self.input.read_exact(&mut request)?;
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes) as usize;
        let (first, count) = (number(&request[..8]), number(&request[8..]));
        Ok(if count == 0 { Request::Over { n: first } } else { Request::Share { first, count } })
    }

    /// In a helper: reports its checks and its error. The trial reads them once the helper has ended.
    pub(crate) fn conclude(&mut self, checks: &[Check], error: Option<&str>) -> io::Result<()> {
        let line = |check: &Check| format!("{}{}\n", if check.held { '+' } else { '-' }, check.claim);
        let mut lines: String = checks.iter().map(line).collect();
        lines.extend(error.map(|error| format!("!{}\n", error.replace('\n', " "))));
        self.output.write_all(lines.as_bytes())
    }

    /// The checks of the helper, and its error, if it had one.
    fn conclusion(mut self) -> io::Result<Vec<Check>> {
        let (mut lines, mut checks) = (String::new(), Vec::new());
        self.input.read_to_string(&mut lines)?;
        for line in lines.lines() {
            match line.split_at_checked(1) {
                Some(("!", error)) => return Err(io::Error::other(error.to_owned())),
                Some((held, claim)) => checks.push(Check { claim: claim.to_owned(), held: held == "+" }),
                None => {}
            }
        }
        Ok(checks)
    }
}
