//! The short form of every layer.

mod museum;
