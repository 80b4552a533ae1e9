// Eight schools, with standardised effects as parameters.
data {
  int<lower=1> schools;
  vector[schools] effects;
  vector<lower=0>[schools] errors;
}
parameters {
  real mu;
  real<lower=0> tau;
  vector[schools] eta;
}
transformed parameters {
  vector[schools] theta = mu + tau * eta;
}
model {
  mu ~ normal(0, 5);
  tau ~ cauchy(0, 5);
  eta ~ std_normal();
  effects ~ normal(theta, errors);
}
