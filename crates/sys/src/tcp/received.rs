//! What has arrived on a connection, as the kernel counts it.

/// What the kernel has counted of one end of a connection (tcp(7), `TCP_INFO`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivedBytes {
    /// Bytes that have arrived at this end.
    pub bytes: u64,
    /// Segments in both directions, acknowledgements too.
    pub segments: u64,
    /// Each segment carries timestamps, which make its header longer.
    pub has_timestamps: bool,
}
