#![doc = include_str!("../README.md")]

mod body;
mod header;
pub mod key;
pub mod layer;
mod path;
pub mod problem;
pub mod proxy;
mod template;
pub mod webhook;

pub use body::{Body, BoxError};
pub use template::KeyTemplate;
