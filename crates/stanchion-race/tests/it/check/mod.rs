mod brute;
mod cycle;
mod linear;
mod lines;
mod order;
mod random;
