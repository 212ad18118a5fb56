// training-operator does not build beside the controller-runtime that Kueue needs.
module quartermaster/tests/node/components/training

go 1.23.0

require github.com/kubeflow/training-operator v1.9.3
