mod brute;

mod linear;
mod lines;
mod order;
mod random;
