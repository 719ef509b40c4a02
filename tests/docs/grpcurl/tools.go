//go:build tools

// The version of grpcurl with which the guide for client authors is run: go.mod and go.sum have it.
package tools

import _ "github.com/fullstorydev/grpcurl/cmd/grpcurl"
