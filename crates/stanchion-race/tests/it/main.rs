//! Tests of the race tester.

mod check;
