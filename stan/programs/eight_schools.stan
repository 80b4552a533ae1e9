// Eight schools, with standardised effects as parameters, and repeated data.
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
generated quantities {
  vector[schools] log_lik;
  vector[schools] repeated;
  for (j in 1 : schools) {
    log_lik[j] = normal_lpdf(effects[j] | theta[j], errors[j]);
    repeated[j] = normal_rng(theta[j], errors[j]);
  }
}
