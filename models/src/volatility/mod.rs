//! Stochastic volatility: the variance of returns is itself a process.

mod fx;
mod path;
mod states;
mod stock;
mod theta;

pub use fx::FxVolatility;
pub use states::FxStates;
pub use stock::StockVolatility;
pub use theta::{FirstState, Theta};
