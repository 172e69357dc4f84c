// A CSI driver in memory: no disks behind it, but pools of room, volumes in them, and the faults that a test asks for. It stands
// where external-provisioner expects one, on Unix sockets: one that reaches every node's pool, and one for each node by itself.
package main

import (
	"flag"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
)

func main() {
	name := flag.String("name", "", "the driver's name, as StorageClasses have it")
	key := flag.String("topology-key", "", "the node label whose value names the pool that the node reaches")
	nodes := flag.String("nodes", "", "names of nodes, with commas between: each gets a socket of its own")
	folder := flag.String("folder", ".", "where the sockets go: csi.sock, and one a node")
	control := flag.String("control", "", "host:port of the tests' side")
	flag.Parse()

	store := newStore()
	serve(filepath.Join(*folder, "csi.sock"), &driver{name: *name, key: *key, store: store})
	for _, node := range strings.FieldsFunc(*nodes, func(r rune) bool { return r == ',' }) {
		serve(filepath.Join(*folder, node+".sock"), &driver{name: *name, key: *key, node: node, store: store})
	}
	log.Fatal(http.ListenAndServe(*control, controlOf(store)))
}

func serve(path string, driver *driver) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	csi.RegisterIdentityServer(server, driver)
	csi.RegisterControllerServer(server, driver)
	csi.RegisterNodeServer(server, driver)
	go func() { log.Fatal(server.Serve(listener)) }()
}
