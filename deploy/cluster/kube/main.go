// Command kube is the control plane and the node agents of the local cluster
// in one binary: the first argument names the component, the rest are its flags.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func command(name string) *cobra.Command {
	switch name {
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		return controllermanager.NewControllerManagerCommand()
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand()
	case "kube-proxy":
		return proxy.NewProxyCommand()
	case "kubelet":
		// The kubelet installs its own signal handler; a second one panics.
		return kubelet.NewKubeletCommand(context.Background())
	}
	return nil
}

func main() {
	var cmd *cobra.Command
	if len(os.Args) > 1 {
		cmd = command(os.Args[1])
	}
	if cmd == nil {
		fmt.Fprintln(os.Stderr, "usage: kube kube-apiserver|kube-controller-manager|kube-scheduler|kube-proxy|kubelet [flags]")
		os.Exit(2)
	}
	os.Args = os.Args[1:]
	os.Exit(cli.Run(cmd))
}
