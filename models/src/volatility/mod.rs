//! Stochastic volatility models: the variance of returns follows an autoregressive process.

mod fx;
mod path;
mod states;
mod stock;
mod theta;

pub use fx::FxVolatility;
pub use states::FxStates;
pub use stock::StockVolatility;
pub use theta::{FirstState, Theta};
