//! Finds chunks by words or nearness: text, vectors, facets.
