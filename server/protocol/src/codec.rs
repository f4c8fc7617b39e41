//! How values become bytes and bytes values, within a memory budget.
//!
//! Numbers are of variable length, little-endian; a string or list begins with its length; a struct is its fields in the
//! order in which its impl lists them: `docs/protocol.md` has the rules, which are those of bincode 2's standard encoding.
//! What is read is hostile: a length is looked at against the bytes that are left before anything is allocated for it, and
//! all that lists take in memory is counted against [`MEMORY_PER_BYTE`] times the message's length.
//!
//! Start reading at [`Wire`]; the types of the library have their impls in [`values`](crate::values).

use std::collections::BTreeMap;
use std::mem::size_of;
use std::time::Duration;

/// Bytes of memory that a message may take for each of its bytes.
pub const MEMORY_PER_BYTE: usize = 24;
/// Bytes of memory that any message may take.
const MEMORY_MIN: usize = 64 << 10;
/// The largest number that is one byte. A byte above it says how long the number is that follows.
const ONE_BYTE_MAX: u64 = 250;
const TWO_BYTES: u8 = 251;
const FOUR_BYTES: u8 = 252;
const EIGHT_BYTES: u8 = 253;

/// Where a value is written to. It takes all that it is given.
#[derive(Debug, Default)]
pub struct Sink(Vec<u8>);

impl Sink {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// A number, in as few bytes as it can be.
    fn write_number(&mut self, number: u64) {
        if number <= ONE_BYTE_MAX {
            self.0.push(number as u8);
        } else if let Ok(number) = u16::try_from(number) {
            self.0.push(TWO_BYTES);
            self.write(&number.to_le_bytes());
        } else if let Ok(number) = u32::try_from(number) {
            self.0.push(FOUR_BYTES);
            self.write(&number.to_le_bytes());
        } else {
            self.0.push(EIGHT_BYTES);
            self.write(&number.to_le_bytes());
        }
    }
}

/// Where a value is read from.
#[derive(Debug)]
pub struct Source<'b> {
    /// Bytes that are left.
    bytes: &'b [u8],
    /// Bytes of memory that the message may still take.
    memory: usize,
}

impl<'b> Source<'b> {
    /// The next `len` bytes.
    fn read(&mut self, len: usize) -> Result<&'b [u8], DecodeError> {
        let (bytes, rest) = self
            .bytes
            .split_at_checked(len)
            .ok_or(DecodeError::TooShort)?;
        self.bytes = rest;
        Ok(bytes)
    }

    fn read_array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (bytes, rest) = self
            .bytes
            .split_first_chunk()
            .ok_or(DecodeError::TooShort)?;
        self.bytes = rest;
        Ok(*bytes)
    }

    /// A number of at most `size` bytes.
    fn read_number(&mut self, size: usize) -> Result<u64, DecodeError> {
        let [first] = self.read_array()?;
        match first {
            TWO_BYTES if size >= 2 => Ok(u16::from_le_bytes(self.read_array()?).into()),
            FOUR_BYTES if size >= 4 => Ok(u32::from_le_bytes(self.read_array()?).into()),
            EIGHT_BYTES if size >= 8 => Ok(u64::from_le_bytes(self.read_array()?)),
            number if u64::from(number) <= ONE_BYTE_MAX => Ok(number.into()),
            _ => Err(DecodeError::NotANumber(first)),
        }
    }

    /// Counts the memory of a list before it is taken.
    fn claim(&mut self, count: usize, size: usize) -> Result<(), DecodeError> {
        let bytes = count.checked_mul(size);
        let left = bytes.and_then(|bytes| self.memory.checked_sub(bytes));
        self.memory = left.ok_or(DecodeError::TooLarge)?;
        Ok(())
    }
}

/// Why a value cannot be written: it has no JSON.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct EncodeError(pub(crate) String);

/// Why bytes are no value of the kind that they should be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// They end within the value.
    #[error("it ends too early")]
    TooShort,
    /// The value would take more memory than its bytes allow.
    #[error("it would take too much memory")]
    TooLarge,
    /// A byte that begins no number of this size.
    #[error("a number begins with {0}")]
    NotANumber(u8),
    /// A byte that is neither 0 nor 1.
    #[error("a boolean is {0}")]
    NotABoolean(u8),
    /// A length that this machine cannot have.
    #[error("a length is {0}")]
    Length(u64),
    /// Text that is not UTF-8.
    #[error("a string is not UTF-8")]
    Utf8,
    /// Something else that the type forbids.
    #[error("{0}")]
    Invalid(String),
}

/// Why a message is none.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// Its bytes are not those of the value that it should be.
    #[error("the message cannot be read: {0}")]
    Encoding(String),
    /// Bytes follow the value.
    #[error("{0} bytes follow the message")]
    TrailingBytes(usize),
    /// It asks for something that there is not.
    #[error("there is no call {0:#06x}")]
    UnknownMethod(u16),
}

impl From<DecodeError> for MessageError {
    fn from(error: DecodeError) -> MessageError {
        MessageError::Encoding(error.to_string())
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
        if len > from.bytes.len() {
            return Err(DecodeError::TooShort);
        }
        from.claim(len, size_of::<Self>())?;
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
    let mut sink = Sink(head.to_vec());
    put(&mut sink).expect("everything that is sent as JSON has one");
    sink.0
}

/// The value that all of `bytes` are.
///
/// # Errors
/// [`MessageError`] for other bytes, and for such as would take too much memory.
pub fn decode<T: Wire>(bytes: &[u8]) -> Result<T, MessageError> {
    let memory = bytes.len().saturating_mul(MEMORY_PER_BYTE).max(MEMORY_MIN);
    let mut source = Source { bytes, memory };
    let value = T::take(&mut source)?;
    match source.bytes.len() {
        0 => Ok(value),
        rest => Err(MessageError::TrailingBytes(rest)),
    }
}

pub(crate) fn wrong(why: impl Into<String>) -> DecodeError {
    DecodeError::Invalid(why.into())
}

/// Numbers of variable length; those with a sign as 0, -1, 1, -2, … are 0, 1, 2, 3, ….
macro_rules! wire_number {
    ($($unsigned:ty, $signed:ty;)*) => {$(
        impl Wire for $unsigned {
            fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
                to.write_number(u64::from(*self));
                Ok(())
            }

            fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
                // No longer than the type is.
                Ok(from.read_number(size_of::<Self>())? as Self)
            }
        }

        impl Wire for $signed {
            fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
                let folded = (*self << 1) ^ (*self >> (Self::BITS - 1));
                (folded as $unsigned).put(to)
            }

            fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
                let folded = <$unsigned>::take(from)?;
                Ok((folded >> 1) as Self ^ -((folded & 1) as Self))
            }
        }
    )*};
}

wire_number! { u16, i16; u32, i32; u64, i64; }

/// Numbers with a point are as they are in memory, little-endian.
macro_rules! wire_float {
    ($($of:ty)*) => {$(
        impl Wire for $of {
            fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
                to.write(&self.to_le_bytes());
                Ok(())
            }

            fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
                Ok(Self::from_le_bytes(from.read_array()?))
            }
        }
    )*};
}

wire_float! { f32 f64 }

impl Wire for bool {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        u8::from(*self).put(to)
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        match u8::take(from)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(DecodeError::NotABoolean(other)),
        }
    }
}

impl Wire for u8 {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        to.write(&[*self]);
        Ok(())
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        let [byte] = from.read_array()?;
        Ok(byte)
    }

    fn put_all(values: &[Self], to: &mut Sink) -> Result<(), EncodeError> {
        to.write(values);
        Ok(())
    }

    fn take_all(len: usize, from: &mut Source<'_>) -> Result<Vec<Self>, DecodeError> {
        Ok(from.read(len)?.to_vec())
    }
}

impl Wire for usize {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        (*self as u64).put(to)
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        let value = u64::take(from)?;
        usize::try_from(value).map_err(|_| DecodeError::Length(value))
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
        to.write(self.as_bytes());
        Ok(())
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        let bytes = Vec::<u8>::take(from)?;
        String::from_utf8(bytes).map_err(|_| DecodeError::Utf8)
    }
}

impl<const N: usize> Wire for [u8; N] {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        to.write(self);
        Ok(())
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        from.read_array()
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        self.is_some().put(to)?;
        self.iter().try_for_each(|value| value.put(to))
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        if bool::take(from)? {
            Ok(Some(T::take(from)?))
        } else {
            Ok(None)
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
    ($($of:ty { $($field:ident $(or $default:expr)?),* $(,)? })*) => {$(
        impl $crate::codec::Wire for $of {
            fn put(
                &self,
                to: &mut $crate::codec::Sink,
            ) -> Result<(), $crate::codec::EncodeError> {
                // All fields are named, so that none is forgotten.
                let Self { $($field),* } = self;
                let _ = &to;
                $(
                    $(let $field = &$field.unwrap_or($default);)?
                    $crate::codec::Wire::put($field, to)?;
                )*
                Ok(())
            }

            fn take(
                from: &mut $crate::codec::Source<'_>,
            ) -> Result<Self, $crate::codec::DecodeError> {
                let _ = &from;
                $(
                    let $field = $crate::codec::Wire::take(from)?;
                    $(let $field = Some($field).filter(|value| $default != *value);)?
                )*
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
            ) -> Result<(), $crate::codec::EncodeError> {
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
            ) -> Result<Self, $crate::codec::DecodeError> {
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
    fn values_have_a_fixed_encoding() {
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
    fn numbers_use_the_shortest_encoding() {
        let bytes = |marker: u8, number: &[u8]| [&[marker], number].concat();
        let cases: [(u64, Vec<u8>); 9] = [
            (0, vec![0]),
            (250, vec![250]),
            (251, bytes(251, &[251, 0])),
            (255, bytes(251, &[255, 0])),
            (65_535, bytes(251, &[255, 255])),
            (65_536, bytes(252, &[0, 0, 1, 0])),
            (u64::from(u32::MAX), bytes(252, &[255; 4])),
            (1 << 32, bytes(253, &[0, 0, 0, 0, 1, 0, 0, 0])),
            (u64::MAX, bytes(253, &[255; 8])),
        ];
        for (number, expected) in cases {
            assert_eq!(encode(&number), expected, "{number}");
            assert_eq!(decode::<u64>(&expected).unwrap(), number);
            let is_of = |size: u32| number <= u64::MAX >> (64 - size);
            assert_eq!(decode::<u16>(&expected).is_ok(), is_of(16), "{number}");
            assert_eq!(decode::<u32>(&expected).is_ok(), is_of(32), "{number}");
        }
        for (number, expected) in [
            (0i64, 0u64),
            (-1, 1),
            (1, 2),
            (i64::MAX, u64::MAX - 1),
            (i64::MIN, u64::MAX),
        ] {
            assert_eq!(encode(&number), encode(&expected), "{number}");
            assert_eq!(decode::<i64>(&encode(&number)).unwrap(), number);
        }
        assert_eq!(encode(&i32::MIN), encode(&u32::MAX));
        assert_eq!(decode::<i32>(&encode(&i32::MIN)).unwrap(), i32::MIN);
        // Longer than it need be is a number all the same; what begins none is refused.
        assert_eq!(decode::<u64>(&[253, 5, 0, 0, 0, 0, 0, 0, 0]).unwrap(), 5);
        for marker in [254, 255] {
            let wrong = [&[marker][..], &[0; 16]].concat();
            assert!(decode::<u64>(&wrong).is_err());
        }
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
    fn trailing_bytes_are_an_error() {
        let rest = decode::<bool>(&[1, 0, 0]).unwrap_err();
        assert!(matches!(rest, MessageError::TrailingBytes(2)));
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
