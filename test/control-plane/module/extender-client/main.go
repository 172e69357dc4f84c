// extender-client calls an extender with kube-scheduler's own client, as kube-scheduler builds it from its configuration, and says
// in one line of JSON how that went.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type order struct {
	URLPrefix string
	// Plain HTTP without.
	TLS *config.ExtenderTLSConfig
	// "filter" or "bind".
	Verb string
	// Of all callers together; each goes on with the next one when its call is answered.
	Calls, InParallel int
	// Names that a filter carries.
	Nodes int
}

type outcome struct {
	Failed     int     `json:"failed"`
	FirstError string  `json:"firstError"`
	WallMs     float64 `json:"wallMs"`
	P50Ms      float64 `json:"p50Ms"`
	P99Ms      float64 `json:"p99Ms"`
	// Of this process.
	CPUMs float64 `json:"cpuMs"`
}

func main() {
	var asked order
	if err := json.Unmarshal([]byte(os.Args[1]), &asked); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	extender, err := scheduler.NewHTTPExtender(&config.Extender{
		URLPrefix:        asked.URLPrefix,
		FilterVerb:       "filter",
		BindVerb:         "bind",
		NodeCacheCapable: true,
		HTTPTimeout:      metav1.Duration{Duration: time.Minute},
		EnableHTTPS:      asked.TLS != nil,
		TLSConfig:        asked.TLS,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	said, _ := json.Marshal(run(asked, callOf(asked, extender)))
	fmt.Println(string(said))
}

func callOf(asked order, extender fwk.Extender) func() error {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "d", UID: "u"}}
	if asked.Verb == "bind" {
		binding := &v1.Binding{ObjectMeta: pod.ObjectMeta, Target: v1.ObjectReference{Kind: "Node", Name: "n"}}
		return func() error { return extender.Bind(binding) }
	}
	nodes := make([]fwk.NodeInfo, asked.Nodes)
	for i := range nodes {
		node := framework.NewNodeInfo()
		node.SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%05d.example.internal", i)}})
		nodes[i] = node
	}
	return func() error {
		_, _, _, err := extender.Filter(pod, nodes)
		return err
	}
}

func run(asked order, call func() error) outcome {
	times := make([]float64, asked.Calls)
	failures := make([]error, asked.Calls)
	next := make(chan int)
	var callers sync.WaitGroup
	cpu, begun := cpuTime(), time.Now()
	for range asked.InParallel {
		callers.Add(1)
		go func() {
			defer callers.Done()
			for nth := range next {
				began := time.Now()
				failures[nth] = call()
				times[nth] = ms(time.Since(began))
			}
		}()
	}
	for nth := range asked.Calls {
		next <- nth
	}
	close(next)
	callers.Wait()

	said := outcome{WallMs: ms(time.Since(begun)), CPUMs: ms(cpuTime() - cpu)}
	for _, err := range failures {
		if err == nil {
			continue
		}
		if said.Failed == 0 {
			said.FirstError = err.Error()
		}
		said.Failed++
	}
	sort.Float64s(times)
	said.P50Ms, said.P99Ms = times[len(times)/2], times[len(times)*99/100]
	return said
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
