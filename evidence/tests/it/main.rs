//! A short form of each layer.

mod real;
