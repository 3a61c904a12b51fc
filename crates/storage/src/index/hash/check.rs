//! Testing the invariants of a hash index.

use std::collections::HashSet;

use super::*;

impl<F: HashForm> HashIndex<F> {
    /// Tests the structure; what is wrong first. Nobody may write meanwhile.
    pub(in crate::index) fn check(&self) -> std::result::Result<(), String> {
        let (mut entries, mut markers, mut nodes, mut bytes) = (0, 0, 0, 0);
        let count = self.count.load(Ordering::Acquire);
        for i in 0..count {
            let bucket = self.buckets.get(i);
            latch::latch(bucket.latch());
            let chain = self.check_chain(i, count);
            latch::unlatch(bucket.latch());
            let (chain, chain_nodes, chain_bytes) = chain?;
            entries += chain.len() as u64;
            nodes += chain_nodes;
            bytes += chain_bytes;
            for (key, _) in chain.iter().filter(|e| e.1 == TID_END) {
                markers += 1;
                if self.heavy.lookup(key, |_| ControlFlow::Break(())).is_continue() {
                    return Err(format!("bucket {i}: a marker, but the tree has none of its key"));
                }
            }
        }
        let counts = [
            ("entries", entries, self.len.get()),
            ("markers", markers, self.markers.get()),
            ("overflow nodes", nodes, self.overflow.used()),
            ("bytes of long keys", bytes, self.meter.bytes()),
        ];
        for (what, found, counted) in counts {
            if found != counted {
                return Err(format!("{found} {what} found, {counted} counted"));
            }
        }
        self.heavy.check()
    }

    /// The entries of a chain, how many overflow nodes it has, and bytes outside them.
    fn check_chain(
        &self,
        i: u64,
        count: u64,
    ) -> std::result::Result<(HashSet<(Vec<u8>, u64)>, u64, u64), String> {
        let (mut entries, mut nodes, mut bytes) = (HashSet::new(), 0, 0);
        let mut node = Some(self.buckets.get(i));
        while let Some(chain) = node {
            for at in 0..chain.count::<F>() {
                let entry = chain.entry::<F>(at);
                let home = bucket_of(self.hash_entry(&entry), count);
                if home != i {
                    return Err(format!("bucket {i}: an entry that belongs to bucket {home}"));
                }
                bytes += F::entry_bytes_held(&entry);
                let mut key = Vec::new();
                F::write_entry(&entry, self.width, &mut key);
                if !entries.insert((key, chain.tid::<F>(at))) {
                    return Err(format!("bucket {i}: an entry is there twice"));
                }
            }
            node = self.next(chain);
            nodes += u64::from(node.is_some());
            if node.is_some() && chain.count::<F>() < Bucket::capacity::<F>() {
                return Err(format!("bucket {i}: a node before the last is not full"));
            }
            if node.is_some_and(|next| next.count::<F>() == 0) {
                return Err(format!("bucket {i}: an overflow node is empty"));
            }
        }
        Ok((entries, nodes, bytes))
    }
}
