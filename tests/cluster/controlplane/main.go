// Command controlplane is etcd, the three Kubernetes servers that a bed needs, and the kubelet's port-forward,
// in one binary: the first argument says which.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: controlplane SERVER [flags]")
		os.Exit(2)
	}
	server := os.Args[1]
	os.Args = os.Args[1:]

	var command *cobra.Command
	switch server {
	case "etcd":
		etcdmain.Main(os.Args)
		return
	case "port-forward":
		portForward(os.Args[1], os.Args[2])
		return
	case "kube-apiserver":
		command = apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		command = controllermanager.NewControllerManagerCommand()
	case "kube-scheduler":
		command = scheduler.NewSchedulerCommand()
	default:
		fmt.Fprintf(os.Stderr, "controlplane: no server is called %q\n", server)
		os.Exit(2)
	}
	os.Exit(cli.Run(command))
}
