// The gateway of versitygw for a folder, and nothing else of it: its own command also has the clients of three clouds, a web page and
// a test suite, which would all be built. It takes the arguments and variables of that command that s3.ts uses:
//
//	s3-gateway --port HOST:PORT --quiet posix FOLDER
package main

import (
	"context"
	"log"
	"os"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

// As the command has them.
const (
	actionsAtATime = 5000
	bufferBytes    = 1 << 20
	copyMaxBytes   = 5 << 30
	partsMax       = 10_000
	folderMode     = 0o755
	fileMode       = 0o644
)

// Far fewer than the command takes, and more than a test opens.
const connectionsMax = 10_000

func main() {
	if len(os.Args) != 6 {
		log.Fatal("usage: s3-gateway --port HOST:PORT --quiet posix FOLDER")
	}
	address, folder := os.Args[2], os.Args[5]
	storer := meta.XattrMeta{}
	if err := storer.Test(folder); err != nil {
		log.Fatal(err)
	}
	options := posix.PosixOpts{Concurrency: actionsAtATime, IOBufferSize: bufferBytes, CopyObjectThreshold: copyMaxBytes}
	options.SetNewDirPerm(folderMode)
	options.SetNewFilePerm(fileMode)
	files, err := posix.New(folder, storer, options)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(embedgw.RunVersityGW(context.Background(), files, &embedgw.Config{
		RootUserAccess:    os.Getenv("ROOT_ACCESS_KEY"),
		RootUserSecret:    os.Getenv("ROOT_SECRET_KEY"),
		Ports:             []string{address},
		Quiet:             true,
		MaxConnections:    connectionsMax,
		MaxRequests:       connectionsMax,
		MultipartMaxParts: partsMax,
	}))
}
