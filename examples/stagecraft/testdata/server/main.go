// Server is the API server in memory and nothing else: packaging measures how large it is.
package main

import (
	"log"
	"net/http"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

func main() {
	server, err := apiserver.New(memory.New(memory.Options{}), apiserver.Options{})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:0", server))
}
