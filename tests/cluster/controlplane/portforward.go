package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
)

// podDialer reaches pods through the bed's HTTP proxy.
type podDialer struct{ proxy, podIP string }

// PortForward joins stream with a port of the pod until either side is done.
func (d podDialer) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	pod, err := net.Dial("tcp", d.proxy)
	if err != nil {
		return err
	}
	defer pod.Close()
	fmt.Fprintf(pod, "CONNECT %[1]s:%[2]d HTTP/1.1\r\nHost: %[1]s:%[2]d\r\n\r\n", d.podIP, port)
	reader := bufio.NewReader(pod)
	answer, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("nothing listens on port %d of the pod", port)
	}
	go func() {
		io.Copy(pod, stream)
		pod.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, reader)
	return err
}

// portForward serves /portForward/NAMESPACE/POD on listen, as a kubelet does. The bed's own kubelet stands in
// front of it and names the pod's address in the header Pod-Ip.
func portForward(listen, proxy string) {
	http.HandleFunc("/portForward/", func(w http.ResponseWriter, r *http.Request) {
		options, err := portforward.NewV4Options(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		pod := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		portforward.ServePortForward(w, r, podDialer{proxy, r.Header.Get("Pod-Ip")}, pod, "", options,
			time.Hour, 30*time.Second, portforward.SupportedProtocols)
	})
	log.Fatal(http.ListenAndServe(listen, nil))
}
