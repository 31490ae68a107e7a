// Would a kubelet take this configuration? Reads files or stdin, decodes each with the kubelet's own code,
// strictly, and validates it as the kubelet does at its start. Prints what is wrong, and ends with 1.
//
// The kubelet itself is lenient: of a field that it does not know it only says so in its log.
package main

import (
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	_ "k8s.io/kubernetes/pkg/features" // the feature gates of the kubelet
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
)

func main() {
	names := os.Args[1:]
	if len(names) == 0 {
		names = []string{"/dev/stdin"}
	}
	code := 0
	for _, name := range names {
		if err := check(name); err != nil {
			fmt.Printf("%s: %v\n", name, err)
			code = 1
		}
	}
	os.Exit(code)
}

func check(name string) (wrong error) {
	// With a feature gate that does not exist a kubelet (1.36) ends in a panic.
	defer func() {
		if panicked := recover(); panicked != nil {
			wrong = fmt.Errorf("the kubelet panics: %v", panicked)
		}
	}()
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	_, codecs, err := scheme.NewSchemeAndCodecs(serializer.EnableStrict)
	if err != nil {
		return err
	}
	decoded, _, err := codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return err
	}
	config, ok := decoded.(*kubeletconfig.KubeletConfiguration)
	if !ok {
		return fmt.Errorf("a %T is no configuration of a kubelet", decoded)
	}
	// It would ask whether this machine has cgroup v2, which is not the node that the file is for.
	config.FailCgroupV1 = false
	return validation.ValidateKubeletConfiguration(config, utilfeature.DefaultFeatureGate)
}
