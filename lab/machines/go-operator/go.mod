// The Prometheus operator, for the schemas of its kinds alone: lab/machines/operator_kinds.py reads them.
module necroscope.dev/lab/go-operator

go 1.24.0

require github.com/prometheus-operator/prometheus-operator v0.85.0
