//! A short form of each layer, for every run of the tests.

mod museum;
mod simulation;
