//! Protocols, the client's side: machines that say what to send and check what comes back, and never touch a
//! socket. A new client is a new file here, its `mod` line and its line in [`ALL`].

/// One connection's worth of asking.
pub trait Client {
    /// Whether the server speaks first, and no request is sent.
    const SERVER_BEGINS: bool = false;

    /// The next request, as it is to be sent. Empty where the server speaks first.
    fn request(&mut self) -> &[u8];

    /// Takes input, of any length, cut anywhere, as an answer to the last request.
    ///
    /// # Errors
    /// What is wrong with the answer; the connection must then be closed.
    fn feed(&mut self, input: &[u8]) -> Result<Answer, Wrong>;

    /// The server has closed the connection: whether that completes the answer.
    ///
    /// # Errors
    /// [`Wrong::Short`] in the middle of an answer.
    fn end(&mut self) -> Result<Answer, Wrong>;
}

/// What is known of an answer so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// More has to come.
    Partial,
    /// It is complete and right, and another request may follow on the connection.
    Whole,
    /// It is complete and right, and the server will close, or has closed.
    Last,
}

/// What can be wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wrong {
    /// It is none of the protocol.
    Malformed,
    /// The status is none of success.
    Status(u16),
    /// The body is not what it was the first time, or not what its checksum says.
    Content,
    /// The connection ended in the middle of it.
    Short,
    /// Something came that nobody had asked for.
    Unasked,
}
