//! Where in Redis what is kept: partitions and their hash tags.

use super::OpenError;

/// The most partitions there may be.
const MOST: u16 = 256;

/// A prefix may have so many bytes.
const PREFIX_BYTES: usize = 64;

/// Hash slots of a Redis Cluster.
const SLOTS: u32 = 16_384;

/// The partitions of one cluster of nodes. Every user belongs to one, and all keys of a partition
/// carry its hash tag, so that a script sees all there is of a user.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    prefix: String,
    tags: Vec<String>,
}

impl Keys {
    /// # Errors
    ///
    /// If the prefix or the number cannot be.
    pub(super) fn new(prefix: &str, partitions: u16) -> Result<Self, OpenError> {
        if prefix.is_empty() || prefix.len() > PREFIX_BYTES || prefix.contains(['{', '}']) {
            return Err(OpenError::Prefix(prefix.into()));
        }
        if !(1..=MOST).contains(&partitions) {
            return Err(OpenError::Partitions { asked: partitions, most: MOST });
        }
        let tags = (0..partitions).map(|it| spread(prefix, it, partitions)).collect();
        Ok(Self { prefix: prefix.into(), tags })
    }

    pub(super) fn count(&self) -> usize {
        self.tags.len()
    }

    /// The partition that a user belongs to.
    pub(super) fn partition_of(&self, user: &str) -> usize {
        (fnv(user.as_bytes()) % self.tags.len() as u64) as usize
    }

    /// What all keys of the partition begin with.
    pub(super) fn tag(&self, partition: usize) -> &str {
        &self.tags[partition]
    }

    /// The hash slot of the partition.
    pub(super) fn slot(&self, partition: usize) -> u16 {
        let tag = &self.tags[partition];
        slot(&tag.as_bytes()[1..tag.len() - 1])
    }

    /// Where notices to a node are published.
    pub(super) fn channel(&self, partition: usize, node: u64) -> String {
        format!("{}:n:{node}", self.tags[partition])
    }

    /// What the nodes have agreed upon: a hash.
    pub(super) fn settings(&self) -> String {
        format!("{{{}}}:settings", self.prefix)
    }

    pub(super) fn settings_slot(&self) -> u16 {
        slot(self.prefix.as_bytes())
    }
}

/// A tag whose slot lies in the partition's share of all slots, so that masters with equal shares
/// of the slots have equal shares of the partitions.
fn spread(prefix: &str, partition: u16, partitions: u16) -> String {
    let mut extra = 0u32;
    loop {
        let inner = format!("{prefix}:{partition}.{extra}");
        if u32::from(slot(inner.as_bytes())) * u32::from(partitions) / SLOTS == u32::from(partition)
        {
            return format!("{{{inner}}}");
        }
        extra += 1;
    }
}

/// A key's hash slot: CRC-16 (XMODEM) of its tag.
fn slot(tag: &[u8]) -> u16 {
    let crc = tag.iter().fold(0u16, |crc, &byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| {
            if crc & 0x8000 != 0 { (crc << 1) ^ 0x1021 } else { crc << 1 }
        })
    });
    crc % SLOTS as u16
}

/// FNV-1a: the same on every machine and in every version, as users must be found again.
pub(super) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &it| {
        (hash ^ u64::from(it)).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_redis() {
        // By the reference implementation's own examples.
        assert_eq!(slot(b"123456789"), 0x31c3);
        assert_eq!(slot(b"foo"), 12_182);
    }

    #[test]
    fn partitions_are_spread_over_the_slots_and_stay_where_they_are() {
        let keys = Keys::new("greendot", 8).unwrap();
        for partition in 0..8 {
            let share = usize::from(keys.slot(partition)) / (16_384 / 8);
            assert_eq!(share, partition);
        }
        assert_eq!(keys.partition_of("ana"), 2);
        assert_eq!(keys.partition_of("bo"), 3);
    }

    #[test]
    fn what_cannot_be_a_prefix_is_refused() {
        for wrong in ["", "a{b", "}", &"x".repeat(65)] {
            assert!(Keys::new(wrong, 8).is_err(), "{wrong}");
        }
        for wrong in [0, 257] {
            assert!(Keys::new("greendot", wrong).is_err(), "{wrong}");
        }
    }
}
