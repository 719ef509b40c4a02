// Serves the API of Kubernetes, with the flags of kube-apiserver: the tests of the chart need one.
// All of it comes from the modules of Kubernetes; no binary of a registry is run.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of its client
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version among the metrics
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	os.Exit(cli.Run(app.NewAPIServerCommand()))
}
