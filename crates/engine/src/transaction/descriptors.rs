//! Descriptors of large objects: which a transaction has open, and where it is in each.
//!
//! A descriptor ends with its transaction; a rollback to a savepoint closes those opened since.
//! Elsewhere: reads and writes (`run::large_object`).

/// An open large object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descriptor {
    /// Number of the object.
    pub(crate) object: u32,
    /// True when it may be written, too.
    pub(crate) writes: bool,
    /// Place of the next byte.
    pub(crate) place: i64,
    /// How many the transaction had opened before.
    opened: u64,
}

/// The descriptors of a transaction, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Descriptors {
    slots: Vec<Option<Descriptor>>,
    opened: u64,
}

impl Descriptors {
    /// The number of a new descriptor, which is at the beginning of its object.
    pub(crate) fn open(&mut self, object: u32, writes: bool) -> usize {
        let descriptor = Descriptor { object, writes, place: 0, opened: self.opened };
        self.opened += 1;
        match self.slots.iter().position(Option::is_none) {
            Some(free) => {
                self.slots[free] = Some(descriptor);
                free
            }
            None => {
                self.slots.push(Some(descriptor));
                self.slots.len() - 1
            }
        }
    }

    /// The descriptor of this number.
    pub(crate) fn get(&mut self, number: i32) -> Option<&mut Descriptor> {
        self.slots.get_mut(usize::try_from(number).ok()?)?.as_mut()
    }

    /// Closes the descriptor of this number, if there is one.
    pub(crate) fn close(&mut self, number: i32) -> Option<Descriptor> {
        self.slots.get_mut(usize::try_from(number).ok()?)?.take()
    }

    /// Closes those of an object that is gone.
    pub(crate) fn close_all_of(&mut self, object: u32) {
        for slot in &mut self.slots {
            if slot.is_some_and(|open| open.object == object) {
                *slot = None;
            }
        }
    }

    /// How many were opened so far.
    pub(crate) fn opened(&self) -> u64 {
        self.opened
    }

    /// Closes those that were opened after so many others.
    pub(crate) fn go_back(&mut self, opened: u64) {
        for slot in &mut self.slots {
            if slot.is_some_and(|open| open.opened >= opened) {
                *slot = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_again_and_rollbacks_close() {
        let mut all = Descriptors::default();
        assert_eq!((all.open(7, false), all.open(8, true)), (0, 1));
        let before = all.opened();
        assert!(all.close(0).is_some() && all.get(0).is_none());
        assert_eq!((all.open(9, true), all.open(9, true)), (0, 2));
        all.go_back(before);
        assert!(all.get(0).is_none() && all.get(2).is_none());
        assert_eq!(
            all.get(1).map(|open| (open.object, open.writes, open.place)),
            Some((8, true, 0))
        );
        all.close_all_of(8);
        assert!(all.get(1).is_none() && all.get(-1).is_none());
    }
}
