//! Stochastic volatility: the variance of returns is itself a process.

mod fx;
mod path;
mod stock;

pub use fx::{FxVolatility, Theta};
pub use stock::StockVolatility;
