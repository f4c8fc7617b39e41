//! Latency, throughput, memory and quality suites.
