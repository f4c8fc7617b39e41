//! A question, planned, answered and cited over one read view.
