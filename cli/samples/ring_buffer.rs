//! A bounded queue in one piece of memory: the newest items, in order, without moving any.
//!
//! A *ring buffer* is an array whose end is joined to its beginning. Two counters say where the
//! next item is written and where the oldest one is read. Both only ever grow; the place of an
//! item is its counter modulo the capacity, which for a power of two is a single bit mask.
//!
//! Always true: `read <= write`, and `write - read <= capacity`. A slot holds an item exactly when
//! its number lies in `read..write`. Start reading at [`RingBuffer::push`].
//!
//! Where it is used: between the clients and the committing thread of a store with group commit,
//! and for the last lines of a log that is kept in memory.

/// What [`RingBuffer::push`] did to make room.
#[derive(Debug, PartialEq, Eq)]
pub enum Pushed<T> {
    /// A slot was free.
    Stored,
    /// The buffer was full: the oldest item was taken out and is handed back here.
    Evicted(T),
}

/// A first-in, first-out queue with a fixed number of slots.
///
/// Items carry a *sequence number*, counted from 0 in the order of their arrival and never reused.
/// A reader that remembers the number of the last item it saw can tell whether it missed some.
#[derive(Debug)]
pub struct RingBuffer<T> {
    /// The slots; their number is a power of two.
    slots: Vec<Option<T>>,
    /// Sequence number of the oldest item.
    read: u64,
    /// Sequence number that the next item will get.
    write: u64,
}

impl<T> RingBuffer<T> {
    /// An empty buffer with at least `min_capacity` slots, rounded up to a power of two.
    ///
    /// The rounding is what turns the modulo into a mask: `number & (capacity - 1)`.
    pub fn with_capacity(min_capacity: usize) -> Self {
        let capacity = min_capacity.max(1).next_power_of_two();
        let slots = std::iter::repeat_with(|| None).take(capacity).collect();
        RingBuffer {
            slots,
            read: 0,
            write: 0,
        }
    }

    /// How many items fit.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// How many items are stored: the distance between the two counters.
    pub fn len(&self) -> usize {
        (self.write - self.read) as usize
    }

    /// Whether nothing is stored.
    ///
    /// Counters that wrapped with the array would be equal both when it is empty and when it is
    /// full, and the usual cure is to sacrifice one slot. Counters that run on for ever differ by
    /// the capacity when it is full and by zero when it is empty, so every slot can be used. At a
    /// thousand million items a second, 64 bits last for more than five hundred years.
    pub fn is_empty(&self) -> bool {
        self.read == self.write
    }

    /// Whether the next push must evict.
    pub fn is_full(&self) -> bool {
        self.len() == self.capacity()
    }

    /// Appends `item`. A full buffer gives up its oldest item, which is handed back.
    ///
    /// Cost: constant; nothing is moved and nothing is allocated.
    pub fn push(&mut self, item: T) -> Pushed<T> {
        let evicted = if self.is_full() { self.pop() } else { None };
        let slot = self.slot(self.write);
        self.slots[slot] = Some(item);
        self.write += 1;
        evicted.map_or(Pushed::Stored, Pushed::Evicted)
    }

    /// Appends `item` only if a slot is free, and hands it back otherwise.
    ///
    /// This is *backpressure*: the producer learns that the consumer is behind, and may wait.
    pub fn try_push(&mut self, item: T) -> Result<(), T> {
        if self.is_full() {
            return Err(item);
        }
        self.push(item);
        Ok(())
    }

    /// Takes the oldest item out.
    pub fn pop(&mut self) -> Option<T> {
        let slot = self.slot(self.read);
        let item = self.slots[slot].take()?;
        self.read += 1;
        Some(item)
    }

    /// The item with this sequence number, unless it has left or has not arrived.
    pub fn get(&self, number: u64) -> Option<&T> {
        let stored = (self.read..self.write).contains(&number);
        stored.then(|| self.slots[self.slot(number)].as_ref())?
    }

    /// All items, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (self.read..self.write).filter_map(|number| self.get(number))
    }

    /// Where the item with this number lies in the array.
    fn slot(&self, number: u64) -> usize {
        (number & (self.slots.len() as u64 - 1)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::{Pushed, RingBuffer};

    #[test]
    fn a_full_buffer_hands_back_its_oldest_item() {
        let mut ring = RingBuffer::with_capacity(3);
        assert_eq!(ring.capacity(), 4);
        for item in 0..4 {
            assert_eq!(ring.push(item), Pushed::Stored);
        }
        assert_eq!(ring.try_push(4), Err(4));
        assert_eq!(ring.push(4), Pushed::Evicted(0));
        assert_eq!(ring.iter().copied().collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!((ring.get(0), ring.get(4)), (None, Some(&4)));
    }
}
