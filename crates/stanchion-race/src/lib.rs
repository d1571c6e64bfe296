//! Races services against each other and judges what came out.

pub mod check;
