//! Concepts, relations and walks over them.
