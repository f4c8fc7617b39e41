//! How values become bytes and bytes values: bincode's standard encoding, within a memory budget.
//!
//! Numbers are of variable length, little-endian; a string or list begins with its length; a struct is its fields in the
//! order in which its impl lists them: `docs/protocol.md` has the rules. What is read is hostile: a length is looked at
//! against the bytes that are left before anything is allocated for it, and all that lists take in memory is counted
//! against [`MEMORY_PER_BYTE`] times the message's length.
//!
//! Start reading at [`Wire`]; the types of the library have their impls in [`values`](crate::values).

use std::collections::BTreeMap;
use std::mem::size_of;
use std::time::Duration;

use bincode::config::{self, Configuration};
use bincode::de::read::{Reader, SliceReader};
use bincode::de::{Decode, Decoder, DecoderImpl};
use bincode::enc::write::Writer;
use bincode::enc::{Encode, Encoder, EncoderImpl};
use bincode::error::{DecodeError, EncodeError};

/// Bytes of memory that a message may take for each of its bytes.
pub const MEMORY_PER_BYTE: usize = 24;
/// Bytes of memory that any message may take.
const MEMORY_MIN: usize = 64 << 10;

/// Where a value is written to.
pub type Sink = EncoderImpl<Bytes, Configuration>;

/// Where a value is read from.
pub type Source<'b> = DecoderImpl<SliceReader<'b>, Configuration, Budget>;

/// A message that is being written. It takes all that it is given.
#[derive(Debug, Default)]
pub struct Bytes(Vec<u8>);

impl Writer for Bytes {
    fn write(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// What is left of the memory that a message may take.
#[derive(Debug)]
pub struct Budget(usize);

impl Budget {
    fn claim(&mut self, count: usize, size: usize) -> Result<(), DecodeError> {
        let bytes = count.checked_mul(size);
        let left = bytes.and_then(|bytes| self.0.checked_sub(bytes));
        self.0 = left.ok_or(DecodeError::LimitExceeded)?;
        Ok(())
    }
}

/// Why a message is none.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// Its bytes are not those of the value that it should be.
    #[error("the message cannot be read: {0}")]
    Encoding(String),
    /// Bytes follow the value.
    #[error("{0} bytes follow the message")]
    Rest(usize),
    /// It asks for something that there is not.
    #[error("there is no call {0:#06x}")]
    Method(u16),
}

impl From<DecodeError> for MessageError {
    fn from(error: DecodeError) -> MessageError {
        MessageError::Encoding(match error {
            DecodeError::LimitExceeded => "it would take too much memory".into(),
            DecodeError::OtherString(why) => why,
            DecodeError::Other(why) => why.into(),
            DecodeError::UnexpectedEnd { .. } => "it ends too early".into(),
            DecodeError::Utf8 { .. } => "a string is not UTF-8".into(),
            error => format!("{error:?}"),
        })
    }
}

/// A value that can be sent. What one side puts, the other takes.
pub trait Wire: Sized {
    /// Writes it.
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError>;

    /// Reads one.
    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError>;

    /// Writes the elements of a list.
    fn put_all(values: &[Self], to: &mut Sink) -> Result<(), EncodeError> {
        values.iter().try_for_each(|value| value.put(to))
    }

    /// Reads the `len` elements of a list.
    fn take_all(len: usize, from: &mut Source<'_>) -> Result<Vec<Self>, DecodeError> {
        // Every value takes a byte at least.
        bytes_left(from, len)?;
        from.context().claim(len, size_of::<Self>())?;
        let mut values = Vec::with_capacity(len);
        for _ in 0..len {
            values.push(Self::take(from)?);
        }
        Ok(values)
    }
}

/// The bytes of a value.
pub fn encode<T: Wire>(value: &T) -> Vec<u8> {
    encode_after(&[], |sink| value.put(sink))
}

/// `head`, and what `put` writes after it.
pub(crate) fn encode_after(
    head: &[u8],
    put: impl FnOnce(&mut Sink) -> Result<(), EncodeError>,
) -> Vec<u8> {
    let mut sink = Sink::new(Bytes(head.to_vec()), config::standard());
    put(&mut sink).expect("a vector takes all bytes, and lengths fit 64 bits");
    sink.into_writer().0
}

/// The value that all of `bytes` are.
///
/// # Errors
/// [`MessageError`] for other bytes, and for such as would take too much memory.
pub fn decode<T: Wire>(bytes: &[u8]) -> Result<T, MessageError> {
    let memory = bytes.len().saturating_mul(MEMORY_PER_BYTE).max(MEMORY_MIN);
    let reader = SliceReader::new(bytes);
    let mut source = Source::new(reader, config::standard(), Budget(memory));
    let value = T::take(&mut source)?;
    match rest_len(&mut source, bytes.len()) {
        0 => Ok(value),
        rest => Err(MessageError::Rest(rest)),
    }
}

/// Bytes that are left of `of`: the most that can be looked at.
fn rest_len(from: &mut Source<'_>, of: usize) -> usize {
    let (mut least, mut most) = (0, of);
    while least < most {
        let middle = most - (most - least) / 2;
        match from.reader().peek_read(middle) {
            Some(_) => least = middle,
            None => most = middle - 1,
        }
    }
    least
}

/// Whether `len` bytes are left at least.
fn bytes_left(from: &mut Source<'_>, len: usize) -> Result<(), DecodeError> {
    match from.reader().peek_read(len) {
        Some(_) => Ok(()),
        None => Err(DecodeError::UnexpectedEnd { additional: len }),
    }
}

pub(crate) fn wrong(why: impl Into<String>) -> DecodeError {
    DecodeError::OtherString(why.into())
}

/// What bincode has an encoding of.
macro_rules! as_bincode {
    ($($of:ty)*) => {$(
        impl Wire for $of {
            fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
                self.encode(to)
            }

            fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
                <$of>::decode(from)
            }
        }
    )*};
}

as_bincode! { bool u16 u32 u64 i32 i64 f32 f64 }

impl Wire for u8 {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        self.encode(to)
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        u8::decode(from)
    }

    fn put_all(values: &[Self], to: &mut Sink) -> Result<(), EncodeError> {
        to.writer().write(values)
    }

    fn take_all(len: usize, from: &mut Source<'_>) -> Result<Vec<Self>, DecodeError> {
        let reader = from.reader();
        let bytes = reader.peek_read(len).map(<[u8]>::to_vec);
        let bytes = bytes.ok_or(DecodeError::UnexpectedEnd { additional: len })?;
        reader.consume(len);
        Ok(bytes)
    }
}

impl Wire for usize {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        (*self as u64).put(to)
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        let value = u64::take(from)?;
        usize::try_from(value).map_err(|_| DecodeError::OutsideUsizeRange(value))
    }
}

impl Wire for () {
    fn put(&self, _: &mut Sink) -> Result<(), EncodeError> {
        Ok(())
    }

    fn take(_: &mut Source<'_>) -> Result<Self, DecodeError> {
        Ok(())
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        self.len().put(to)?;
        T::put_all(self, to)
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        let len = usize::take(from)?;
        T::take_all(len, from)
    }
}

impl Wire for String {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        self.len().put(to)?;
        to.writer().write(self.as_bytes())
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        let bytes = Vec::<u8>::take(from)?;
        String::from_utf8(bytes).map_err(|error| DecodeError::Utf8 {
            inner: error.utf8_error(),
        })
    }
}

impl<const N: usize> Wire for [u8; N] {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        to.writer().write(self)
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        let mut bytes = [0; N];
        from.reader().read(&mut bytes)?;
        Ok(bytes)
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        self.is_some().put(to)?;
        self.iter().try_for_each(|value| value.put(to))
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        match bool::take(from)? {
            true => Ok(Some(T::take(from)?)),
            false => Ok(None),
        }
    }
}

impl<T: Wire> Wire for Box<T> {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        T::put(self, to)
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        T::take(from).map(Box::new)
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        self.0.put(to)?;
        self.1.put(to)
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        Ok((A::take(from)?, B::take(from)?))
    }
}

impl<A: Wire, B: Wire, C: Wire> Wire for (A, B, C) {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        self.0.put(to)?;
        self.1.put(to)?;
        self.2.put(to)
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        Ok((A::take(from)?, B::take(from)?, C::take(from)?))
    }
}

impl<K: Wire + Ord, V: Wire> Wire for BTreeMap<K, V> {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        self.len().put(to)?;
        self.iter().try_for_each(|(key, value)| {
            key.put(to)?;
            value.put(to)
        })
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        Ok(Vec::<(K, V)>::take(from)?.into_iter().collect())
    }
}

/// Microseconds.
impl Wire for Duration {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        (self.as_micros().min(u128::from(u64::MAX)) as u64).put(to)
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        u64::take(from).map(Duration::from_micros)
    }
}

/// A struct is its fields, in this order.
macro_rules! wire_struct {
    ($($of:ty { $($field:ident),* $(,)? })*) => {$(
        impl $crate::codec::Wire for $of {
            fn put(
                &self,
                to: &mut $crate::codec::Sink,
            ) -> Result<(), bincode::error::EncodeError> {
                // All fields are named, so that none is forgotten.
                let Self { $($field),* } = self;
                let _ = &to;
                $($crate::codec::Wire::put($field, to)?;)*
                Ok(())
            }

            fn take(
                from: &mut $crate::codec::Source<'_>,
            ) -> Result<Self, bincode::error::DecodeError> {
                let _ = &from;
                $(let $field = $crate::codec::Wire::take(from)?;)*
                Ok(Self { $($field),* })
            }
        }
    )*};
}

/// A choice is its number as a byte, then the fields of its variant in this order.
macro_rules! wire_enum {
    ($($of:ty { $($number:literal => $Variant:ident $(($($place:ident),*))? $({ $($field:ident),* })?),* $(,)? })*) => {$(
        impl $crate::codec::Wire for $of {
            fn put(
                &self,
                to: &mut $crate::codec::Sink,
            ) -> Result<(), bincode::error::EncodeError> {
                match self {
                    $(Self::$Variant $(($($place),*))? $({ $($field),* })? => {
                        $crate::codec::Wire::put(&($number as u8), to)?;
                        $($($crate::codec::Wire::put($place, to)?;)*)?
                        $($($crate::codec::Wire::put($field, to)?;)*)?
                    })*
                }
                Ok(())
            }

            fn take(
                from: &mut $crate::codec::Source<'_>,
            ) -> Result<Self, bincode::error::DecodeError> {
                match <u8 as $crate::codec::Wire>::take(from)? {
                    $($number => {
                        $($(let $place = $crate::codec::Wire::take(from)?;)*)?
                        $($(let $field = $crate::codec::Wire::take(from)?;)*)?
                        Ok(Self::$Variant $(($($place),*))? $({ $($field),* })?)
                    })*
                    other => Err($crate::codec::wrong(format!(
                        "{} has no variant {other}",
                        stringify!($of)
                    ))),
                }
            }
        }
    )*};
}

pub(crate) use {wire_enum, wire_struct};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    enum Shape {
        Point,
        Circle(f32),
        Named { name: String, sides: Vec<u32> },
    }

    wire_enum! { Shape { 0 => Point, 1 => Circle(radius), 7 => Named { name, sides } } }

    #[test]
    fn values_are_these_bytes() {
        let named = Shape::Named {
            name: "é".into(),
            sides: vec![1, 300, 70_000],
        };
        assert_eq!(encode(&Shape::Point), [0]);
        assert_eq!(encode(&Shape::Circle(1.0)), [1, 0, 0, 128, 63]);
        let bytes = [7, 2, 0xc3, 0xa9, 3, 1, 251, 44, 1, 252, 0x70, 0x11, 1, 0];
        assert_eq!(encode(&named), bytes);
        assert_eq!(decode::<Shape>(&bytes).unwrap(), named);
        assert_eq!(encode(&(Some(5u64), -1i32, true)), [1, 5, 1, 1]);
        assert_eq!(encode(&(None::<u64>, [9u8, 8])), [0, 9, 8]);
    }

    #[test]
    fn lengths_beyond_the_message_or_its_memory_are_refused() {
        // 2^62 strings, in nine bytes.
        let mut bytes = vec![253];
        bytes.extend((1u64 << 62).to_le_bytes());
        let why = decode::<Vec<String>>(&bytes).unwrap_err().to_string();
        assert!(why.contains("too early"), "{why}");
        assert!(decode::<String>(&bytes).is_err());
        type Large = (u64, u64, (u64, u64, (u64, u64, u64)));
        // A list of 20,000 values of 56 bytes each in 140,002 bytes is not too large, a hostile one would be.
        let large: Vec<Large> = vec![(0, 0, (0, 0, (0, 0, 0))); 20_000];
        assert_eq!(decode::<Vec<Large>>(&encode(&large)).unwrap(), large);
        let units = encode(&vec![(); 5]);
        assert!(decode::<Vec<()>>(&units).is_err());
        let empty: Vec<Vec<String>> = vec![Vec::new(); 100_000];
        assert_eq!(decode::<Vec<Vec<String>>>(&encode(&empty)).unwrap(), empty);
        let many: Vec<Vec<Large>> = vec![vec![(0, 0, (0, 0, (0, 0, 0))); 1]; 20_000];
        let deep: Vec<(Vec<Vec<Large>>, Vec<u8>)> = vec![(many, Vec::new())];
        let bytes = encode(&deep);
        let read = decode::<Vec<(Vec<Vec<Large>>, Vec<u8>)>>(&bytes);
        assert_eq!(read.unwrap(), deep);
        // What is small as bytes and large in memory is refused.
        let wide: Vec<Vec<Narrow>> = vec![vec![Narrow([None; 4])]; 40_000];
        let why = decode::<Vec<Vec<Narrow>>>(&encode(&wide)).unwrap_err();
        assert!(why.to_string().contains("too much memory"), "{why}");
    }

    /// A value of one byte that takes much memory.
    #[derive(Clone, Debug)]
    struct Narrow(#[allow(dead_code, reason = "it takes room")] [Option<(u64, u64)>; 4]);

    impl Wire for Narrow {
        fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
            0u8.put(to)
        }

        fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
            u8::take(from)?;
            Ok(Narrow([None; 4]))
        }
    }

    #[test]
    fn what_follows_a_value_is_an_error() {
        let rest = decode::<bool>(&[1, 0, 0]).unwrap_err();
        assert!(matches!(rest, MessageError::Rest(2)));
        let none = decode::<bool>(&[2]).unwrap_err();
        assert!(matches!(none, MessageError::Encoding(_)), "{none}");
    }

    proptest! {
        #[test]
        fn what_is_put_is_taken(
            text in ".{0,40}",
            numbers in prop::collection::vec((any::<u32>(), any::<i64>()), 0..20),
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            map in prop::collection::btree_map(".{0,5}", any::<f64>(), 0..6),
            micros in any::<u64>(),
        ) {
            let value = ((text, numbers), (bytes, map), Duration::from_micros(micros));
            let read = decode::<((String, Vec<(u32, i64)>), (Vec<u8>, BTreeMap<String, f64>), Duration)>(&encode(&value));
            prop_assert_eq!(format!("{:?}", read.unwrap()), format!("{value:?}"));
        }

        #[test]
        fn any_bytes_are_a_value_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = decode::<Vec<(Option<String>, Vec<u64>)>>(&bytes);
            let _ = decode::<BTreeMap<String, Vec<u8>>>(&bytes);
            let _ = decode::<Shape>(&bytes);
        }
    }
}
